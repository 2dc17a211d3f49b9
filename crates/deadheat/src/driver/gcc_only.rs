//! Options of gcc that clang refuses outright and that a build can do without.
//!
//! Builds written for gcc name them without asking. Options that change what the program does (layout,
//! signedness, calling conventions) are not in the list: there clang's refusal is the right answer.

use std::sync::LazyLock;

static PATTERNS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let text = include_str!("gcc_only.txt");
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
});

/// Whether clang need not see this option.
pub fn is_gcc_only(option: &str) -> bool {
    (option.starts_with("-f") || option.starts_with("-m") || option.starts_with("-g"))
        && PATTERNS.iter().any(|pattern| matches(pattern, option))
}

fn matches(pattern: &str, option: &str) -> bool {
    match pattern.split_once("[no-]") {
        None => matches_plainly(pattern, option),
        Some((family, name)) => option
            .strip_prefix(family)
            .is_some_and(|rest| matches_plainly(name, rest.strip_prefix("no-").unwrap_or(rest))),
    }
}

fn matches_plainly(pattern: &str, option: &str) -> bool {
    if let Some(stem) = pattern.strip_suffix('*') {
        option.starts_with(stem)
    } else if pattern.ends_with('=') {
        option.starts_with(pattern)
    } else {
        option == pattern
    }
}

#[cfg(test)]
mod tests {
    use super::is_gcc_only;

    #[test]
    fn knows_forms_and_values() {
        for option in [
            "-fno-ipa-icf",
            "-fipa-icf",
            "-ftree-parallelize-loops=4",
            "-fdump-tree-all",
            "-fno-tree-sra",
        ] {
            assert!(is_gcc_only(option), "{option}");
        }
        assert!(is_gcc_only("-fno-cf-protection"));
        for option in [
            "-fcf-protection",
            "-fPIC",
            "-ftree-vectorize",
            "-fpack-struct",
            "-mabi=ms",
            "-g",
            "-O2",
        ] {
            assert!(!is_gcc_only(option), "{option}");
        }
    }
}
