//! rustc's command line, read as far as deadheat must, and what is added to it. Pure.
//!
//! - Ours stands behind the user's, where the last word of an option wins: link-time optimisation off (sites
//!   are made per object), symbols kept, frame pointers, position-independent code, our linker.
//! - Debug information is added only where the user says nothing about it.
//! - Response files are read to know what is asked; they are passed on as they are.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::driver::DriverError;
use crate::driver::installation::Parts;

/// The machine that is watched.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Tells our linker that the code has sites, so the standard library is to have them too.
pub const WITH_SITES: &str = "--deadheat-sites";

/// Options of rustc that take the next word when nothing is joined to them.
const WITH_VALUE: [&str; 24] = [
    "-L",
    "-l",
    "-o",
    "-A",
    "-W",
    "-D",
    "-F",
    "-C",
    "-Z",
    "--allow",
    "--warn",
    "--force-warn",
    "--deny",
    "--forbid",
    "--cap-lints",
    "--cfg",
    "--check-cfg",
    "--crate-name",
    "--edition",
    "--extern",
    "--out-dir",
    "--sysroot",
    "--explain",
    "--remap-path-prefix",
];

/// A command line taken apart: options with their values, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RustcLine {
    options: Vec<(String, String)>,
    /// Files, `-` among them.
    inputs: usize,
}

impl RustcLine {
    /// Takes a command line apart.
    pub fn parse(words: &[OsString]) -> RustcLine {
        let mut line = RustcLine::default();
        let mut words = expanded(words).into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                line.inputs += words.by_ref().count();
            } else if word == "-" || !word.starts_with('-') {
                line.inputs += 1;
            } else {
                line.option(&word, &mut words);
            }
        }
        line
    }

    fn option(&mut self, word: &str, rest: &mut impl Iterator<Item = String>) {
        let valued = |name: &str| {
            WITH_VALUE.contains(&name)
                || matches!(
                    name,
                    "--codegen" | "--emit" | "--print" | "--target" | "--crate-type" | "--error-format" | "--json"
                )
                || matches!(name, "--color" | "--diagnostic-width" | "--env-set")
        };
        let (name, value) = if word.starts_with("--") {
            match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None if valued(word) => (word.to_owned(), rest.next().unwrap_or_default()),
                None => (word.to_owned(), String::new()),
            }
        } else if let Some(short) = word.get(..2).filter(|short| valued(short)) {
            match &word[2..] {
                "" => (short.to_owned(), rest.next().unwrap_or_default()),
                joined => (short.to_owned(), joined.to_owned()),
            }
        } else {
            (word.to_owned(), String::new())
        };
        let name = if name == "--codegen" { "-C".to_owned() } else { name };
        self.options.push((name, value));
    }

    fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        let of = self.options.iter().filter(move |(n, _)| n == name);
        of.map(|(_, value)| value.as_str())
    }

    /// Value of a codegen option, the last; empty if it stands alone. Underscores and dashes are the same.
    fn codegen(&self, name: &str) -> Option<&str> {
        self.values("-C").rev().find_map(|option| {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            (key.replace('_', "-") == name).then_some(value)
        })
    }

    /// Whether only the version is asked for.
    pub fn asks_for_version(&self) -> bool {
        self.has(&["-V", "-vV", "-Vv", "--version"])
    }

    /// Whether all that tells versions apart is asked for, as cargo does; build scripts ask for the one line.
    pub fn asks_for_all_of_version(&self) -> bool {
        self.has(&["-vV", "-Vv"]) || self.asks_for_version() && self.has(&["-v", "--verbose"])
    }

    /// The machine that is named.
    pub fn target(&self) -> Option<&str> {
        self.values("--target").next_back()
    }

    /// Whether code comes out of it.
    pub fn makes_code(&self) -> bool {
        let asks = self.asks_for_version() || self.has(&["-h", "--help", "--explain"]);
        let only_prints = self.values("--print").next().is_some()
            && !self
                .values("--print")
                .any(|p| matches!(p, "link-args" | "native-static-libs"));
        let emits = |kind: &str| {
            let kind = kind.split('=').next().unwrap_or_default();
            matches!(kind, "link" | "obj" | "asm")
        };
        let mut kinds = self.values("--emit").flat_map(|list| list.split(',')).peekable();
        self.inputs > 0 && !asks && !only_prints && (kinds.peek().is_none() || kinds.any(emits))
    }

    /// Whether it is loaded into the compiler: a procedural macro.
    pub fn is_for_the_compiler(&self) -> bool {
        self.crate_types().any(|t| t == "proc-macro")
    }

    fn crate_types(&self) -> impl Iterator<Item = &str> {
        self.values("--crate-type").flat_map(|list| list.split(','))
    }

    /// Whether a program or a shared library is linked.
    pub fn links(&self) -> bool {
        let mut kinds = self.values("--emit").flat_map(|list| list.split(',')).peekable();
        let emits = kinds.peek().is_none() || kinds.any(|k| k == "link" || k.starts_with("link="));
        let mut types = self.crate_types().peekable();
        let whole = types.peek().is_none() || types.any(|t| matches!(t, "bin" | "dylib" | "cdylib"));
        emits && (whole || self.has(&["--test"]))
    }

    fn says_debug(&self) -> bool {
        self.has(&["-g"]) || self.codegen("debuginfo").is_some()
    }

    /// Why the work cannot be done, with the way out.
    fn refusal(&self) -> Option<String> {
        if let Some(other) = self.target().filter(|t| *t != TARGET) {
            return Some(format!("--target {other}: deadheat watches {TARGET} programs only"));
        }
        let fixed = |features: &str| features.split(',').any(|f| f.trim() == "+crt-static");
        if self.codegen("target-feature").is_some_and(fixed) {
            return Some(
                "-C target-feature=+crt-static: in a static program the thread calls cannot be taken over. Leave it out"
                    .to_owned(),
            );
        }
        let sanitizer = self.values("-Z").find_map(|z| z.strip_prefix("sanitizer="))?;
        Some(format!(
            "-Zsanitizer={sanitizer} cannot be combined with deadheat: both would watch or replace the same memory and \
             thread calls. Leave it out of RUSTFLAGS"
        ))
    }
}

/// The words with response files (one argument a line) in their places.
fn expanded(words: &[OsString]) -> Vec<String> {
    let mut all = Vec::with_capacity(words.len());
    for word in words {
        let text = word.to_string_lossy();
        match text.strip_prefix('@').map(std::fs::read_to_string) {
            Some(Ok(lines)) => all.extend(lines.lines().map(str::to_owned)),
            _ => all.push(text.into_owned()),
        }
    }
    all
}

/// The whole command line for rustc.
pub fn plan(line: &RustcLine, words: &[OsString], parts: &Parts, linker: &Path) -> Result<Vec<OsString>, DriverError> {
    if let Some(why) = line.refusal() {
        return Err(DriverError::Refused(why));
    }
    if parts.pass.as_os_str().as_encoded_bytes().contains(&b' ') {
        return Err(DriverError::Refused(format!(
            "rustc cannot load a plugin from a path with blanks: {}. Install deadheat elsewhere",
            parts.pass.display()
        )));
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut all = words[..end].to_vec();
    all.push(joined("-Zllvm-plugins=", parts.pass.as_os_str()));
    // It would fold the two bodies of a function where they are alike.
    all.push("-Zmerge-functions=disabled".into());
    all.extend(
        [
            "-Cforce-frame-pointers=yes",
            // A frame in every path, or a stack lacks the caller of a function that leaves early.
            "-Cllvm-args=-enable-shrink-wrap=false",
            "-Clto=off",
            "-Clinker-plugin-lto=no",
            "-Cstrip=none",
            "-Crelocation-model=pic",
            "-Clinker-flavor=gcc",
        ]
        .map(OsString::from),
    );
    if !line.says_debug() {
        all.push("-Cdebuginfo=2".into());
    }
    all.push(joined("-Clinker=", linker.as_os_str()));
    all.push(format!("-Clink-arg={WITH_SITES}").into());
    all.extend_from_slice(&words[end..]);
    Ok(all)
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> RustcLine {
        RustcLine::parse(&text.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn planned(text: &str) -> Result<Vec<String>, String> {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        let parts = Parts::under(Path::new("/lib/deadheat"));
        let all = plan(&RustcLine::parse(&words), &words, &parts, Path::new("/bin/linker"));
        let text = |all: Vec<OsString>| all.iter().map(|w| w.to_string_lossy().into_owned()).collect();
        all.map(text).map_err(|e| e.to_string())
    }

    #[test]
    fn what_makes_code_is_told_apart() {
        assert!(line("a.rs").makes_code() && line("a.rs").links());
        assert!(line("--crate-name x --crate-type lib --emit=dep-info,metadata,link a.rs").makes_code());
        assert!(!line("--crate-type lib --emit=dep-info,metadata a.rs").makes_code());
        assert!(!line("-vV").makes_code() && line("-vV").asks_for_all_of_version());
        assert!(line("--version --verbose").asks_for_all_of_version());
        assert!(!line("--version").asks_for_all_of_version() && !line("--version").makes_code());
        assert!(!line("- --crate-name ___ --print=file-names --crate-type bin").makes_code());
        assert!(!line("--crate-type lib --emit=link a.rs").links());
        assert!(line("--crate-type lib --test a.rs").links());
        assert!(line("--crate-type proc-macro a.rs").is_for_the_compiler());
        assert_eq!(line("--target x a.rs").target(), Some("x"));
    }

    #[test]
    fn values_may_be_joined_or_not() {
        for text in [
            "-C opt_level=3 a.rs",
            "-Copt-level=3 a.rs",
            "--codegen opt-level=3 a.rs",
        ] {
            assert_eq!(line(text).codegen("opt-level"), Some("3"), "{text}");
        }
        // The value of an option is no input.
        assert_eq!(line("-L dir --extern a=b.rlib -o out").inputs, 0);
    }

    #[test]
    fn the_last_word_is_ours_and_the_debug_level_is_theirs() {
        let words = planned("-Clto=fat -Cdebuginfo=1 -- a.rs").unwrap();
        let at = |word: &str| words.iter().position(|w| w == word);
        assert!(at("-Clto=off") > at("-Clto=fat") && at("-Clto=off") < at("--"));
        assert_eq!(at("-Cdebuginfo=2"), None);
        assert!(planned("a.rs").unwrap().contains(&"-Cdebuginfo=2".to_owned()));
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_way_out() {
        assert!(planned("--target wasm32-wasip1 a.rs").unwrap_err().contains("x86_64"));
        assert!(
            planned("-Ctarget-feature=+crt-static a.rs")
                .unwrap_err()
                .contains("Leave it out")
        );
        assert!(planned("-Zsanitizer=thread a.rs").unwrap_err().contains("RUSTFLAGS"));
    }
}
