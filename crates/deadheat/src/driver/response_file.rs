//! Response files: `@file` on the command line stands for the words in the file.
//!
//! As clang reads them on Unix: words end at white space, quotes of either kind group, a backslash takes the
//! next character as it is; files may name further files; what cannot be read stays as it was written.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Files within files, at most; clang refuses cycles, we stop here.
const DEPTH: usize = 16;

/// The arguments with all response files replaced by their words.
pub fn expand(arguments: &[OsString]) -> Vec<OsString> {
    let mut words = Vec::with_capacity(arguments.len());
    for argument in arguments {
        expand_one(argument, DEPTH, &mut words);
    }
    words
}

fn expand_one(argument: &OsStr, depth: usize, words: &mut Vec<OsString>) {
    let named = argument.as_bytes().strip_prefix(b"@").filter(|_| depth > 0);
    match named.and_then(|name| std::fs::read(OsStr::from_bytes(name)).ok()) {
        Some(text) => split(&text)
            .into_iter()
            .for_each(|word| expand_one(&word, depth - 1, words)),
        None => words.push(argument.to_owned()),
    }
}

/// Splits a response file's text into words.
pub fn split(text: &[u8]) -> Vec<OsString> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(byte),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0, None) => words.extend(word.take().map(OsString::from_vec)),
            (_, None) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// A response file's text that [`split`] turns back into these words.
pub fn join(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        text.push(b'"');
        for &byte in word.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_clang_does() {
        let words = split(b"-c 'a b.c'\t-DX=\"1 2\"\\ 3\r\n'' -D'Y'=\\\"q\\\"");
        assert_eq!(words, ["-c", "a b.c", "-DX=1 2 3", "", "-DY=\"q\""].map(OsString::from));
    }

    #[test]
    fn joins_what_it_splits() {
        let words = ["a b", "", "c\"d\\e", "'f'", "g\nh"].map(OsString::from).to_vec();
        assert_eq!(split(&join(&words)), words);
    }

    #[test]
    fn expands_nested_files_and_leaves_the_rest() {
        let directory = tempfile::tempdir().unwrap();
        let (inner, outer) = (directory.path().join("inner"), directory.path().join("outer"));
        std::fs::write(&inner, "-O2 b.c").unwrap();
        std::fs::write(&outer, format!("a.c @{} @missing", inner.display())).unwrap();
        let words = expand(&[OsString::from("-c"), OsString::from(format!("@{}", outer.display()))]);
        assert_eq!(words, ["-c", "a.c", "-O2", "b.c", "@missing"].map(OsString::from));
    }
}
