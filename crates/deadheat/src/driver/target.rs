//! Which machines the command line compiles for. deadheat watches x86-64 Linux with glibc.

use super::command_line::CommandLine;

/// What in the command line asks for another machine, if anything does.
pub fn foreign(line: &CommandLine) -> Option<String> {
    let width = line
        .options()
        .rfind(|o| matches!(*o, "-m32" | "-m16" | "-mx32" | "-m64"));
    if let Some(width) = width.filter(|w| *w != "-m64") {
        return Some(width.to_owned());
    }
    let joined = line.last_value("--target=");
    let target = joined
        .or_else(|| line.last_value("-target"))
        .or_else(|| line.last_value("--target"))?
        .to_str()?;
    let fits = (target.starts_with("x86_64-") || target.starts_with("amd64-"))
        && target.contains("linux")
        && !["musl", "gnux32", "android", "ohos", "llvm"]
            .iter()
            .any(|other| target.ends_with(other));
    (!fits).then(|| format!("--target={target}"))
}
