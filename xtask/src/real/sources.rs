//! Debian's source packages, by the system's own apt: its archive, its keys, package lists of our own.
//!
//! The `deb-src` entries are derived from the system's `deb` entries for its release, and everything that apt
//! writes goes into the given directory, so that the system stays as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The packages that are not installed.
pub fn lacking(packages: &[&'static str]) -> Vec<&'static str> {
    let installed = |package: &str| {
        Command::new("dpkg-query")
            .args(["-W", "-f", "${db:Status-Status}", package])
            .stderr(Stdio::null())
            .output()
            .is_ok_and(|output| output.stdout == b"installed")
    };
    packages.iter().copied().filter(|package| !installed(package)).collect()
}

/// The unpacked source of a package, below the directory; that of an earlier run if there is one.
pub fn unpacked(package: &str, directory: &Path) -> Result<PathBuf, String> {
    let source = directory.join("source");
    if let Some(tree) = tree(&source)? {
        return Ok(tree);
    }
    let told = |error: std::io::Error| format!("{}: {error}", source.display());
    fs::create_dir_all(source.join("lists/partial")).map_err(told)?;
    fs::create_dir_all(source.join("cache/archives/partial")).map_err(told)?;
    let entries = entries()?;
    if entries.is_empty() {
        return Err("apt knows no archive of this release".into());
    }
    fs::write(source.join("source.list"), entries.join("\n") + "\n").map_err(told)?;
    apt(&source, &["update"])?;
    apt(&source, &["source", package])?;
    tree(&source)?.ok_or_else(|| format!("apt-get source {package}: nothing was unpacked"))
}

/// The one unpacked tree in the directory.
fn tree(source: &Path) -> Result<Option<PathBuf>, String> {
    let Ok(entries) = fs::read_dir(source) else {
        return Ok(None);
    };
    let mut paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.find(|path| path.join("debian/control").exists()))
}

fn apt(source: &Path, arguments: &[&str]) -> Result<(), String> {
    let option = |name: &str, value: PathBuf| format!("{name}={}", value.display());
    let output = Command::new("apt-get")
        .current_dir(source)
        .args(["-q", "-o", &option("Dir::Etc::sourcelist", source.join("source.list"))])
        .args(["-o", "Dir::Etc::sourceparts=/dev/null"])
        .args(["-o", &option("Dir::State::lists", source.join("lists"))])
        .args(["-o", &option("Dir::Cache", source.join("cache"))])
        .args(["-o", "APT::Sandbox::User=root"])
        .args(arguments)
        .output()
        .map_err(|error| format!("apt-get: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "apt-get {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// `deb-src` lines for this release.
fn entries() -> Result<Vec<String>, String> {
    let system = fs::read_to_string("/etc/os-release").map_err(|error| format!("/etc/os-release: {error}"))?;
    let release = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let release = release.ok_or("this system does not name its release")?;
    let mut found = Vec::new();
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    files.extend(
        fs::read_dir("/etc/apt/sources.list.d")
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path()),
    );
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        match file.extension().is_some_and(|extension| extension == "sources") {
            true => found.extend(text.split("\n\n").filter_map(|stanza| from_stanza(stanza, release))),
            false => found.extend(text.lines().filter_map(|line| from_line(line, release))),
        }
    }
    Ok(found)
}

/// Of a line `deb [OPTIONS] ARCHIVE SUITE COMPONENT...`.
fn from_line(line: &str, release: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb ")?;
    let words = match rest.trim_start().strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = words.split_whitespace().skip(1);
    let wanted = words.next() == Some(release) && words.any(|component| component == "main");
    wanted.then(|| format!("deb-src {}", rest.trim_start()))
}

/// Of a stanza with the fields `Types`, `URIs`, `Suites`, `Components` and `Signed-By`.
fn from_stanza(stanza: &str, release: &str) -> Option<String> {
    let field = |name: &str| {
        let of = |line: &str| {
            line.strip_prefix(name)?
                .strip_prefix(':')
                .map(|value| value.trim().to_owned())
        };
        stanza.lines().find_map(of)
    };
    let has = |name: &str, word: &str| field(name).is_some_and(|value| value.split_whitespace().any(|w| w == word));
    if !has("Types", "deb") || !has("Suites", release) || !has("Components", "main") {
        return None;
    }
    let archive = field("URIs")?.split_whitespace().next()?.to_owned();
    let key = field("Signed-By").filter(|path| path.starts_with('/'));
    let options = key.map_or(String::new(), |path| format!("[signed-by={path}] "));
    Some(format!("deb-src {options}{archive} {release} main"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_release_becomes_a_source_entry() {
        let line = "deb [arch=amd64 signed-by=/k.gpg] http://mirror/debian stable main contrib";
        let want = "deb-src [arch=amd64 signed-by=/k.gpg] http://mirror/debian stable main contrib";
        assert_eq!(from_line(line, "stable").as_deref(), Some(want));
        assert_eq!(from_line(line, "testing"), None);
        assert_eq!(from_line("# deb http://mirror/debian stable main", "stable"), None);
    }

    #[test]
    fn a_stanza_of_the_release_becomes_a_source_entry() {
        let stanza = "Types: deb\nURIs: http://mirror/debian\nSuites: stable stable-updates\nComponents: main\nSigned-By: /k.gpg";
        let want = "deb-src [signed-by=/k.gpg] http://mirror/debian stable main";
        assert_eq!(from_stanza(stanza, "stable").as_deref(), Some(want));
        assert_eq!(from_stanza(stanza, "testing"), None);
    }
}
