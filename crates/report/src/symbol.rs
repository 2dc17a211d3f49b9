//! Addresses to names: functions, inlined frames and lines, variables with members and indices.
//!
//! Works on what the file has: full debug information, only symbols, or nothing (then an address is
//! shown by its module and offset). Files are read when first asked for; every answer is kept.

mod dwarf;
mod stack_variable;
mod symbols;
mod types;
mod variables;

use crate::finding::Frame;
use addr2line::Loader;
use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use symbols::Symbols;
use variables::Variables;

/// A loaded file of the program.
struct Module {
    path: PathBuf,
    bias: u64,
    /// Addresses of the file that are loaded.
    extent: Range<u64>,
    loader: Option<Loader>,
    symbols: Option<Symbols>,
    variables: Option<Variables>,
}

/// Names the addresses of one set of loaded modules.
pub struct Symboliser {
    modules: Vec<Module>,
    frames: HashMap<(u64, bool), Vec<Frame>>,
}

/// Registers by which a function's variables are found.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// A code address of the function: that of the instruction that it is at.
    pub pc: u64,
    /// `rbp`.
    pub frame: u64,
    /// `rsp`; 0 if unknown.
    pub stack: u64,
}

/// A variable that holds an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name with members and indices: `account[3].balance`.
    pub name: String,
    /// Bytes of the whole variable; 0 unknown.
    pub size: u64,
    /// Offset of the address in it.
    pub offset: u64,
}

impl Symboliser {
    /// For modules at these paths, each with the difference between run-time and file addresses.
    pub fn new(modules: impl IntoIterator<Item = (PathBuf, u64)>) -> Symboliser {
        let module = |(path, bias): (PathBuf, u64)| {
            let loader = Loader::new(&path).ok();
            let extent = extent(&path);
            Module {
                path,
                bias,
                extent,
                loader,
                symbols: None,
                variables: None,
            }
        };
        Symboliser {
            modules: modules.into_iter().map(module).collect(),
            frames: HashMap::new(),
        }
    }

    /// The frames at a code address, innermost first. A return address names the call before it.
    pub fn frames(&mut self, address: u64, is_return: bool) -> Vec<Frame> {
        if let Some(known) = self.frames.get(&(address, is_return)) {
            return known.clone();
        }
        let probe = if is_return { address.wrapping_sub(1) } else { address };
        let mut found = Vec::new();
        for module in &mut self.modules {
            let at = probe.wrapping_sub(module.bias);
            if module.extent.contains(&at) {
                found = module.frames(at);
                for frame in &mut found {
                    frame.module = module.path.display().to_string();
                }
                break;
            }
        }
        if found.is_empty() {
            found.push(Frame {
                function: format!("{address:#x}"),
                file: String::new(),
                line: 0,
                column: 0,
                inlined: false,
                module: String::new(),
            });
        }
        self.frames.insert((address, is_return), found.clone());
        found
    }

    /// The static variable at an address.
    pub fn static_variable(&mut self, address: u64) -> Option<Variable> {
        self.modules.iter_mut().find_map(|m| {
            let at = address.wrapping_sub(m.bias);
            if m.extent.contains(&at) {
                m.variables().static_at(at)
            } else {
                None
            }
        })
    }

    /// The thread-local variable at an offset from the thread pointer; only of the executable.
    pub fn thread_local(&mut self, offset: i64) -> Option<Variable> {
        self.modules
            .first_mut()
            .and_then(|m| m.variables().thread_local_at(offset))
    }

    /// The local variable at an address in a frame of the code at `registers.pc`.
    pub fn local(&mut self, address: u64, registers: Registers) -> Option<Variable> {
        self.modules.iter_mut().find_map(|m| {
            let pc = registers.pc.wrapping_sub(m.bias);
            if m.extent.contains(&pc) {
                m.variables().local_at(address, Registers { pc, ..registers })
            } else {
                None
            }
        })
    }
}

impl Module {
    fn variables(&mut self) -> &Variables {
        let path = &self.path;
        self.variables.get_or_insert_with(|| Variables::read(path))
    }
}

impl Module {
    /// The frames at an address of this file, innermost first.
    fn frames(&mut self, probe: u64) -> Vec<Frame> {
        let mut found = self.loader.as_ref().map(|l| frames(l, probe)).unwrap_or_default();
        if found.iter().all(|f| f.function.is_empty()) {
            let path = &self.path;
            let symbols = self.symbols.get_or_insert_with(|| Symbols::read(path));
            let name = match symbols.at(probe) {
                Some(name) => demangle(name),
                // A library's place is worth more than a bare address.
                None => match path.file_name().map(|name| name.to_string_lossy()) {
                    Some(file) if file.contains(".so") => format!("{file}+{probe:#x}"),
                    _ => return Vec::new(),
                },
            };
            match found.last_mut() {
                Some(frame) => frame.function = name,
                None => found.push(Frame {
                    function: name,
                    file: String::new(),
                    line: 0,
                    column: 0,
                    inlined: false,
                    module: String::new(),
                }),
            }
        }
        if let Some(outermost) = found.last_mut() {
            outermost.inlined = false;
        }
        found
    }
}

/// Whether nothing but a number is known of a frame.
pub fn unnamed(frame: &Frame) -> bool {
    let function = frame.function.as_str();
    frame.file.is_empty() && (function.starts_with("0x") || function.contains(".so") && function.contains("+0x"))
}

/// The frames that the debug information gives; functions may be without name.
fn frames(loader: &Loader, probe: u64) -> Vec<Frame> {
    let mut found = Vec::new();
    if let Ok(mut iterator) = loader.find_frames(probe) {
        while let Ok(Some(frame)) = iterator.next() {
            let place = frame.location;
            let function = frame
                .function
                .as_ref()
                .and_then(|f| f.demangle().ok().map(|n| demangle(&n)));
            found.push(Frame {
                function: function.unwrap_or_default(),
                file: normal(place.as_ref().and_then(|p| p.file).unwrap_or_default()),
                line: place.as_ref().and_then(|p| p.line).unwrap_or(0),
                column: place.as_ref().and_then(|p| p.column).unwrap_or(0),
                inlined: true,
                module: String::new(),
            });
        }
    }
    found
}

/// The loaded addresses of a file; none if it is no ELF file.
fn extent(path: &Path) -> Range<u64> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else {
        return 0..0;
    };
    let ends = file.segments().map(|s| s.address().saturating_add(s.size()));
    let low = file.segments().map(|s| s.address()).min().unwrap_or(0);
    low..ends.max().unwrap_or(0)
}

/// A symbol as its author wrote it. C names are left alone: `f` is not C++'s `float`.
pub fn demangle(symbol: &str) -> String {
    let plain = symbol.strip_suffix(".dh").unwrap_or(symbol);
    if !plain.starts_with("_Z") && !plain.starts_with("_R") {
        return plain_string(plain);
    }
    plain_string(&addr2line::demangle_auto(plain.into(), None))
}

/// C++'s string by the name that its user gave.
fn plain_string(name: &str) -> String {
    const WHOLE: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
    const CLOSE: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>";
    name.replace(WHOLE, "std::string").replace(CLOSE, "std::string")
}

/// A path without steps back: `/usr/lib/gcc/../../include` is `/usr/include`.
fn normal(path: &str) -> String {
    if !path.contains("/../") {
        return path.into();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("..", Some(last)) if !last.is_empty() && *last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
