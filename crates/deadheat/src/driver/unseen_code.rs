//! Whether the code in a file that the linker read has sites, all of it.
//!
//! Asked of what the linker says it read, not of the command line: archives that `-l` found, members of linker scripts,
//! what the assembler or another compiler made. An object may be several compilers' (`ld -r`), so it is not enough that
//! there are sites in it: each byte of its code must belong to a function that the pass has seen, or be padding.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, ReadCache, ReadRef, SectionKind, SymbolKind};

use super::link_record::{CALLS, is_rusts_own};

/// Name of the section in which the pass names the functions that it has seen.
const SEEN: &str = ".dh.seen";

/// Objects and archives that come with compiler and C library and order nothing between a program's threads but by calls
/// that the runtime takes over, or by calls that are sites themselves (`__atomic_*`).
const TOOLCHAINS: [&str; 12] = [
    "Scrt1.o",
    "crt1.o",
    "crti.o",
    "crtn.o",
    "crtbegin.o",
    "crtbeginS.o",
    "crtend.o",
    "crtendS.o",
    "libatomic.a",
    "libc_nonshared.a",
    "libgcc.a",
    "libgcc_eh.a",
];

/// Members of an archive that are named one by one, at most.
const NAMED: usize = 3;

/// Whether the file is a part of the toolchain: by its name and its place, since a project may have a `libgcc.a` too.
fn is_toolchains(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let known = TOOLCHAINS.contains(&&*name) || name.starts_with("libclang_rt.") && name.ends_with(".a");
    let place = path.canonicalize().unwrap_or_default();
    let system = ["/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64"];
    known && system.iter().any(|directory| place.starts_with(directory))
}

/// The parts of a file that have code without sites, named by file and member. A file that cannot be read is one.
pub fn in_file(path: &Path) -> Vec<String> {
    if is_toolchains(path) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let name = path.to_string_lossy();
    match File::open(path) {
        Ok(file) => look(file, path, &name, &mut found),
        Err(_) => found.push(name.into_owned()),
    }
    found
}

fn look(mut file: File, path: &Path, name: &str, found: &mut Vec<String>) {
    let mut head = Vec::new();
    let read = file.by_ref().take(8).read_to_end(&mut head);
    let data = ReadCache::new(file);
    if read.is_err() {
        found.push(name.to_owned());
    } else if head.starts_with(b"!<arch>") || head.starts_with(b"!<thin>") {
        let whole = in_archive(&data, path, name, found);
        if whole.is_none() {
            found.push(name.to_owned());
        }
    } else if head.starts_with(b"\x7fELF") {
        match object::File::parse(&data) {
            // What a library does is asked of it when it is loaded.
            Ok(object) if object.kind() == ObjectKind::Dynamic => {}
            Ok(object) => found.extend(has_unseen_code(&object, name).then(|| name.to_owned())),
            Err(_) => found.push(name.to_owned()),
        }
    } else if head.starts_with(b"BC\xc0\xde") || head.starts_with(b"\xde\xc0\x17\x0b") {
        // The linker made code of it, long after the pass.
        found.push(name.to_owned());
    }
    // All else is text: linker scripts, lists of symbols.
}

/// None if the archive cannot be read to its end. Many members are named together.
fn in_archive(data: &ReadCache<File>, path: &Path, name: &str, found: &mut Vec<String>) -> Option<()> {
    let before = found.len();
    for member in ArchiveFile::parse(data).ok()?.members() {
        let member = member.ok()?;
        if member.is_thin() {
            let beside = path.parent()?.join(OsStr::from_bytes(member.name()));
            found.extend(in_file(&beside));
            continue;
        }
        let (start, size) = member.file_range();
        let bytes = data.range(start, size);
        let head = bytes.read_bytes_at(0, size.min(4)).ok()?;
        let unseen = match head {
            b"\x7fELF" => object::File::parse(bytes).map_or(true, |object| has_unseen_code(&object, name)),
            _ => head == b"BC\xc0\xde" || head == b"\xde\xc0\x17\x0b",
        };
        if unseen {
            found.push(format!("{name}({})", String::from_utf8_lossy(member.name())));
        }
    }
    let count = found.len() - before;
    if count > NAMED {
        found.truncate(before);
        found.push(format!("{name} ({count} of its objects)"));
    }
    Some(())
}

/// Whether an object has code that the pass has not seen.
fn has_unseen_code<'data, R: ReadRef<'data>>(object: &object::File<'data, R>, name: &str) -> bool {
    let is_code = |s: &object::Section<'data, '_, R>| s.kind() == SectionKind::Text && s.size() > 0;
    let mut sections = object.sections().filter(is_code).peekable();
    if sections.peek().is_none() || is_rusts_own(object, name) {
        return false;
    }
    let calls = |s: object::Symbol<'data, '_, R>| s.is_undefined() && s.name().is_ok_and(|n| n.starts_with(CALLS));
    let Some(seen) = object.section_by_name(SEEN).and_then(|s| s.data().ok()) else {
        // Calls of ThreadSanitizer's interface are sites, and are known as such by themselves.
        return !object.symbols().any(calls);
    };
    let covered = covered(object, seen);
    sections.any(|section| {
        let ranges = covered.get(&section.index().0).cloned().unwrap_or_default();
        section.data().map_or(true, |code| !fills(code, ranges))
    })
}

/// By section, where functions lie that the pass has seen. There may be as many local functions of a name as it saw.
fn covered<'data, R: ReadRef<'data>>(
    object: &object::File<'data, R>,
    seen: &'data [u8],
) -> HashMap<usize, Vec<Range<usize>>> {
    let mut names: HashMap<&[u8], usize> = HashMap::new();
    for name in seen.split(|b| *b == 0) {
        *names.entry(name).or_default() += 1;
    }
    let mut covered: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
    for symbol in object
        .symbols()
        .filter(|s| s.is_definition() && s.kind() == SymbolKind::Text)
    {
        let (Some(section), Ok(name)) = (symbol.section_index(), symbol.name_bytes()) else {
            continue;
        };
        let Some(count) = names.get_mut(name).filter(|count| **count > 0) else {
            continue;
        };
        *count -= usize::from(symbol.is_local());
        let start = symbol.address() as usize;
        let range = start..start.saturating_add(symbol.size() as usize);
        covered.entry(section.0).or_default().push(range);
    }
    covered
}

/// Whether the ranges leave nothing of the code but padding.
fn fills(code: &[u8], mut ranges: Vec<Range<usize>>) -> bool {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut at = 0;
    for range in ranges {
        if range.start > at && !code.get(at..range.start).is_some_and(is_padding) {
            return false;
        }
        at = at.max(range.end);
    }
    code.get(at..).is_none_or(is_padding)
}

/// Whether this is what assemblers and linkers put between functions: zeros, breakpoints, and NOPs of any length.
fn is_padding(mut code: &[u8]) -> bool {
    while let Some((&first, rest)) = code.split_first() {
        code = match first {
            0 | 0x90 | 0xcc | 0x66 | 0x2e => rest,
            0x0f => match rest {
                [0x1f, operand, rest @ ..] => {
                    let (mode, register) = (operand >> 6, operand & 7);
                    let index = usize::from(mode != 3 && register == 4);
                    let distance = match mode {
                        1 => 1,
                        2 => 4,
                        0 if register == 5 => 4,
                        _ => 0,
                    };
                    match rest.get(index + distance..) {
                        Some(rest) => rest,
                        None => return false,
                    }
                }
                _ => return false,
            },
            _ => return false,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_told_from_code() {
        // cs nopw 0x0(%rax,%rax,1); nopl 0x0(%rax); xchg %ax,%ax; nop
        assert!(is_padding(&[0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]));
        assert!(is_padding(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x66, 0x90, 0x90, 0xcc]));
        assert!(is_padding(&[]));
        // lock incl (%rdi); ret
        assert!(!is_padding(&[0xf0, 0xff, 0x07]));
        assert!(!is_padding(&[0xc3]));
        assert!(!is_padding(&[0x0f, 0x1f, 0x84, 0]));
    }

    #[test]
    fn functions_and_padding_fill_a_section() {
        let code = [0xc3, 0x90, 0x90, 0xf0, 0xff, 0x07, 0xc3, 0xcc];
        assert!(fills(&code, vec![3..7, 0..1]));
        assert!(!fills(&code, std::iter::once(0..1).collect()));
        assert!(!fills(&code, std::iter::once(3..7).collect()));
        assert!(!fills(&code, vec![]));
    }
}
