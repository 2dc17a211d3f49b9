//! What is loaded into the process: file names and the names they import.
//!
//! Used once at start-up, after `dlopen` and around `dlclose`, to refuse synchronisation calls that nobody models and to
//! name libraries in which synchronisation would be unseen.

use crate::bytes::c_string;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::ops::Range;
use libc::{Elf64_Addr, Elf64_Sym, c_int, dl_phdr_info};

const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERDEF: u64 = 0x6fff_fffc;
const STB_GLOBAL: u8 = 1;

type Names = Vec<&'static str>;

/// What is called for each loaded file.
pub type Visitor = unsafe extern "C" fn(*mut dl_phdr_info, usize, *mut c_void) -> c_int;

/// libc's `dl_iterate_phdr`.
///
/// # Safety
/// The function may be called with this argument.
pub unsafe fn each(visitor: Visitor, argument: *mut c_void) -> c_int {
    // SAFETY: as our caller promises.
    unsafe { crate::real::real!(dl_iterate_phdr: fn(Visitor, *mut c_void) -> c_int)(visitor, argument) }
}

/// A loaded file.
pub struct Image {
    /// Path as the loader has it; empty for the executable.
    pub name: String,
    /// Where it was put.
    pub bias: u64,
    /// Names it imports.
    pub imports: Vec<&'static str>,
    /// Of what it defines itself, the names that stand in the way of ours; of the executable alone.
    pub defines: Vec<&'static str>,
    /// Versions of its interface that it defines (`GLIBC_2.34`).
    pub versions: Vec<&'static str>,
}

/// All loaded files, the executable first.
pub fn loaded() -> Vec<Image> {
    let mut images: Vec<Image> = Vec::new();
    // SAFETY: the callback gets our vector back.
    unsafe { each(visit, (&raw mut images).cast()) };
    images
}

/// The address ranges of all loaded files.
pub fn extents() -> Vec<Range<u64>> {
    let mut extents: Vec<Range<u64>> = Vec::new();
    // SAFETY: the callback gets our vector back.
    unsafe { each(measure, (&raw mut extents).cast()) };
    extents
}

unsafe extern "C" fn measure(info: *mut dl_phdr_info, _size: usize, extents: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and the vector that `extents` gave it.
    unsafe {
        let info = &*info;
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let parts = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let start = parts.clone().map(|h| h.p_vaddr).min().unwrap_or(0);
        let end = parts.map(|h| h.p_vaddr + h.p_memsz).max().unwrap_or(0);
        (*(extents as *mut Vec<Range<u64>>)).push(info.dlpi_addr + start..info.dlpi_addr + end);
    }
    0
}

unsafe extern "C" fn visit(info: *mut dl_phdr_info, _size: usize, images: *mut c_void) -> c_int {
    // SAFETY: the loader's structure; tables of loaded files stay mapped while they are loaded.
    unsafe {
        let info = &*info;
        let name = String::from_utf8_lossy(c_string(info.dlpi_name)).into_owned();
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC);
        let images = &mut *(images as *mut Vec<Image>);
        let is_executable = images.is_empty();
        let at = |h: &libc::Elf64_Phdr| (info.dlpi_addr + h.p_vaddr) as *const [u64; 2];
        let names = dynamic.map(|h| names(info.dlpi_addr, at(h), is_executable));
        let (imports, defines, versions) = names.unwrap_or_default();
        images.push(Image {
            name,
            bias: info.dlpi_addr,
            imports,
            defines,
            versions,
        });
    }
    0
}

/// Undefined dynamic symbols of a file, those of ours that it defines (if it is the executable), and the versions that it
/// defines. Our own definitions are weak.
unsafe fn names(base: Elf64_Addr, mut entry: *const [u64; 2], is_executable: bool) -> (Names, Names, Names) {
    let (mut strings, mut symbols, mut hash, mut gnu, mut versions) = (0, 0, 0, 0, 0);
    // SAFETY: a dynamic section ends in DT_NULL.
    unsafe {
        while (*entry)[0] != DT_NULL {
            let [tag, value] = *entry;
            // The loader relocates these addresses in place, except in read-only dynamic sections.
            let address = if value < base { base + value } else { value };
            match tag {
                DT_STRTAB => strings = address,
                DT_SYMTAB => symbols = address,
                DT_HASH => hash = address,
                DT_GNU_HASH => gnu = address,
                DT_VERDEF => versions = address,
                _ => {}
            }
            entry = entry.add(1);
        }
        if strings == 0 || symbols == 0 {
            return Default::default();
        }
        // Undefined symbols come before the first one that the GNU hash covers.
        let count = match (gnu, hash) {
            (0, 0) => 0,
            (0, hash) => *((hash + 4) as *const u32),
            (gnu, _) => *((gnu + 4) as *const u32),
        };
        let table = core::slice::from_raw_parts(symbols as *const Elf64_Sym, count as usize);
        let undefined = table.iter().filter(|s| s.st_shndx == 0 && s.st_name != 0);
        let imports = undefined.filter_map(|s| string(strings, s.st_name)).collect();
        let defined = match (hash, gnu) {
            _ if !is_executable => 0,
            (0, 0) => 0,
            (0, gnu) => covered(gnu),
            (hash, _) => *((hash + 4) as *const u32),
        };
        let table = core::slice::from_raw_parts(symbols as *const Elf64_Sym, defined as usize);
        let strong = table.iter().filter(|s| s.st_shndx != 0 && s.st_info >> 4 == STB_GLOBAL);
        let named = strong.filter_map(|s| string(strings, s.st_name));
        let ours =
            |name: &&str| *name == "malloc" || crate::start::synchronises(name) && crate::intercept::exports(name);
        (
            imports,
            named.filter(ours).collect(),
            defined_versions(versions, strings),
        )
    }
}

/// How many symbols there are by a GNU hash table: behind its filter the buckets, each the first symbol of a chain, whose
/// last has an odd hash.
unsafe fn covered(table: u64) -> u32 {
    // SAFETY: the loader's table.
    unsafe {
        let header = &*(table as *const [u32; 4]);
        let [buckets, first, filter, _] = *header;
        let at = (table + 16 + 8 * u64::from(filter)) as *const u32;
        let last = core::slice::from_raw_parts(at, buckets as usize).iter().max();
        let Some(mut last) = last.copied().filter(|last| *last >= first) else {
            return first;
        };
        let chains = at.add(buckets as usize);
        while *chains.add((last - first) as usize) & 1 == 0 {
            last += 1;
        }
        last + 1
    }
}

/// A name in a file's table of strings.
unsafe fn string(strings: u64, at: u32) -> Option<&'static str> {
    // SAFETY: as our caller promises: the table of a loaded file.
    core::str::from_utf8(unsafe { c_string((strings + u64::from(at)) as *const libc::c_char) }).ok()
}

/// The names of version definitions (`Elf64_Verdef`: the first auxiliary entry's offset is its fourth word, the next
/// definition's the fifth; an auxiliary entry begins with the name).
unsafe fn defined_versions(mut at: u64, strings: u64) -> Vec<&'static str> {
    let mut found = Vec::new();
    // SAFETY: the loader's tables; definitions end in one without a next.
    unsafe {
        while at != 0 {
            let words = at as *const u32;
            let name = *((at + u64::from(*words.add(3))) as *const u32);
            found.extend(string(strings, name));
            let next = *words.add(4);
            at = if next == 0 { 0 } else { at + u64::from(next) };
        }
    }
    found
}
