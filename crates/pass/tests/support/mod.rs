//! Compiles small sources with the plugin, links them and reads their tables.
#![allow(dead_code)] // each test file uses its part

use deadheat_model::{MemoryOrder, SiteKind};
use deadheat_wire::object::*;
use deadheat_wire::sites::{Section, Site, Tables, Unit};
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What deadheat_module.o would define.
const MODULE: &str = "\n__attribute__((visibility(\"hidden\"))) unsigned dh_ctx[8];\n\
    __attribute__((visibility(\"hidden\"))) long dh_budget;\n";

/// The language of a source.
#[derive(Clone, Copy)]
pub enum Language {
    C,
    Cpp,
}

/// A linked library with its tables.
pub struct Built {
    file: Vec<u8>,
    /// The object it was linked from.
    pub object: Vec<u8>,
}

fn plugin() -> PathBuf {
    let test = std::env::current_exe().expect("this test's own path");
    // Cargo leaves what it builds for tests beside them, in target/PROFILE/deps.
    test.with_file_name("libdeadheat_pass.so")
}

fn run(command: &mut Command) {
    let out = command.output().expect("clang-22 is installed");
    assert!(
        out.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// Compiles and links `source` with `flags`.
pub fn build(language: Language, flags: &[&str], source: &str) -> Built {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let n = NUMBER.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("deadheat-pass-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let (compiler, name, head, foot) = match language {
        Language::C => ("clang-22", "t.c", "", ""),
        Language::Cpp => ("clang++-22", "t.cc", "extern \"C\" {", "}"),
    };
    let text = format!("{source}\n{head}{MODULE}{foot}");
    std::fs::write(directory.join(name), text).expect("a temporary file");
    let mut compile = Command::new(compiler);
    compile
        .current_dir(&directory)
        .args(["-g", "-fPIC", "-w", "-c", name, "-o", "t.o"])
        .args(flags);
    run(compile.arg(format!("-fpass-plugin={}", plugin().display())));
    let mut link = Command::new("ld.lld-22");
    run(link
        .current_dir(&directory)
        .args(["-shared", "-z", "undefs", "--build-id=none", "t.o", "-o", "t.so"]));
    let read = |path: &Path| std::fs::read(path).expect("the linker's output");
    let built = Built {
        file: read(&directory.join("t.so")),
        object: read(&directory.join("t.o")),
    };
    let _ = std::fs::remove_dir_all(&directory);
    built
}

impl Built {
    /// The linked file, parsed.
    pub fn parsed(&self) -> object::File<'_> {
        object::File::parse(&*self.file).expect("an ELF file")
    }

    /// A section of the linked file; empty if absent.
    pub fn section(&self, name: &str) -> (u64, Vec<u8>) {
        let parsed = self.parsed();
        match parsed.section_by_name(name) {
            Some(section) => (section.address(), section.data().expect("its bytes").to_vec()),
            None => (0, Vec::new()),
        }
    }

    fn with_tables<T>(&self, read: impl FnOnce(Tables<'_>) -> T) -> T {
        let (descs, units, meta) = (self.section(DESCS), self.section(UNITS), self.section(META));
        let section = |s: &'_ (u64, Vec<u8>)| (s.0, s.1.clone());
        let (descs, units, meta) = (section(&descs), section(&units), section(&meta));
        read(Tables {
            descs: Section {
                address: descs.0,
                bytes: &descs.1,
            },
            units: Section {
                address: units.0,
                bytes: &units.1,
            },
            meta: Section {
                address: meta.0,
                bytes: &meta.1,
            },
        })
    }

    /// All sites, in the order of the table.
    pub fn sites(&self) -> Vec<Site> {
        self.with_tables(|t| {
            (0..t.len() as u32)
                .map(|n| t.site(n).expect("a readable row"))
                .collect()
        })
    }

    /// The only unit.
    pub fn unit(&self) -> Unit {
        let mut units = self.with_tables(|t| t.units());
        assert_eq!(units.len(), 1);
        units.remove(0)
    }

    /// Indices of descriptors that patch rows name, each checked to stand at a NOP.
    pub fn patched(&self) -> Vec<u32> {
        let (descs, _) = self.section(DESCS);
        let (at, rows) = self.section(SITES);
        let mut all: Vec<u32> = (0..rows.len() as u64 / 8)
            .map(|n| {
                let nop = self.reference(&rows, at, n * 8);
                let code = self.bytes_at(nop, 8);
                let start = usize::from(code[0] == 0x64) + usize::from((code[0] & 0xf0) == 0x40);
                assert_eq!(code[start..start + 2], [0x0f, 0x1f], "no NOP: {code:x?}");
                ((self.reference(&rows, at, n * 8 + 4) - descs) / SITE_SIZE as u64) as u32
            })
            .collect();
        all.sort();
        all
    }

    /// Pairs of plain and detecting body.
    pub fn variants(&self) -> Vec<(u64, u64)> {
        let (at, rows) = self.section(VARIANTS);
        (0..rows.len() as u64 / 8)
            .map(|n| (self.reference(&rows, at, n * 8), self.reference(&rows, at, n * 8 + 4)))
            .collect()
    }

    /// Where the self-relative reference at `offset` of a section leads.
    pub fn reference(&self, bytes: &[u8], address: u64, offset: u64) -> u64 {
        let field = bytes[offset as usize..offset as usize + 4]
            .try_into()
            .expect("four bytes");
        (address + offset).wrapping_add_signed(i32::from_le_bytes(field).into())
    }

    /// Bytes of the loaded image.
    pub fn bytes_at(&self, address: u64, count: usize) -> Vec<u8> {
        let parsed = self.parsed();
        let section = parsed
            .sections()
            .find(|s| s.address() != 0 && (s.address()..s.address() + s.size()).contains(&address))
            .expect("an address within a section");
        let from = (address - section.address()) as usize;
        let bytes = section.data().expect("its bytes");
        bytes[from..bytes.len().min(from + count)].to_vec()
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.parsed()
            .symbols()
            .find(|s| s.name() == Ok(name))
            .map(|s| s.address())
    }

    /// Names of all symbols.
    pub fn symbols(&self) -> Vec<String> {
        self.parsed()
            .symbols()
            .filter_map(|s| Some(s.name().ok()?.to_string()))
            .collect()
    }

    /// What run 2 reads of a group: (descriptor, offset, size, stride) of each statement.
    pub fn group(&self, index: u32) -> Vec<(u32, i32, u32, u32)> {
        let (descs_at, descs) = self.section(DESCS);
        let (meta_at, meta) = self.section(META);
        let extra = u64::from(index) * SITE_SIZE as u64 + 20;
        let head = self.reference(&descs, descs_at, extra) - meta_at;
        let word = |at: u64| u32::from_le_bytes(meta[at as usize..at as usize + 4].try_into().expect("a word"));
        (0..u64::from(word(head)))
            .map(|n| {
                let entry = head + GROUP_HEAD_SIZE as u64 + n * GROUP_ENTRY_SIZE as u64;
                let desc = (self.reference(&meta, meta_at, entry) - descs_at) / SITE_SIZE as u64;
                (desc as u32, word(entry + 4) as i32, word(entry + 8), word(entry + 12))
            })
            .collect()
    }
}

/// A statement as text: `LINE KIND SIZE FLAGS… ORDERS…`.
pub fn describe(site: &Site) -> String {
    let mut text = format!("{} {:?}", site.location.as_ref().map_or(0, |l| l.line), site.desc.kind);
    if site.desc.size > 0 {
        text += &format!(" {}", site.desc.size);
    }
    let flags = [
        (FLAG_DYNAMIC, "dynamic"),
        (FLAG_CSTRING, "string"),
        (FLAG_VOLATILE, "volatile"),
        (FLAG_VPTR, "vptr"),
        (FLAG_BITFIELD, "bitfield"),
        (FLAG_INEXACT, "inexact"),
    ];
    for (flag, name) in flags {
        if site.desc.flags & flag != 0 {
            text += &format!(" {name}");
        }
    }
    if site.desc.kind.is_atomic() || site.desc.kind == SiteKind::Fence {
        text += &format!(" {:?}", site.desc.order);
        if site.desc.kind == SiteKind::AtomicCompareExchange {
            text += &format!("/{:?}", site.desc.failure_order);
        }
    }
    text
}

/// The statements of a source, but for entries, exits and groups.
pub fn statements(built: &Built) -> Vec<String> {
    let quiet = [SiteKind::Entry, SiteKind::Exit, SiteKind::Group];
    built
        .sites()
        .iter()
        .filter(|s| !quiet.contains(&s.desc.kind))
        .map(describe)
        .collect()
}

/// Checks the statements of a C source at these levels.
pub fn expect(levels: &[&str], flags: &[&str], source: &str, expected: &[&str]) {
    for level in levels {
        let built = build(Language::C, &[&[*level], flags].concat(), source);
        assert_eq!(statements(&built), expected, "{level} {source}");
        let patched = built.patched();
        for (n, site) in built.sites().iter().enumerate() {
            let has_row = patched.contains(&(n as u32));
            assert_eq!(
                has_row,
                site.desc.kind != SiteKind::Group,
                "patch row of {}",
                describe(site)
            );
        }
        let _ = MemoryOrder::Relaxed;
    }
}
