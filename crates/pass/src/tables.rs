//! The tables of one module: descriptors, strings, locations, groups, variants, patch rows.
//!
//! Layouts are in `deadheat_wire::object`. Distances within `dh_meta` are numbers; distances between
//! sections are constant expressions that become relocations. The patch rows of plain bodies are
//! written by the sites themselves ([`crate::plain_body`]) so that they live and die with the code.

use crate::debug_location;
use crate::ir::{self, Ir, Value, c_string, llvm};
use crate::section_globals::{Distance, append_used, difference, local_alias, private_array, private_bytes};
use crate::watched_statements::{Extent, Statement};
use deadheat_model::SiteKind;
use deadheat_wire::object::*;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use std::collections::HashMap;

/// A statement within a group: its descriptor, offset from the check's start, size, stride.
pub type GroupEntry = (u32, i32, u32, u32);

struct Row {
    kind: SiteKind,
    flags: u8,
    order: u8,
    align_log2: u8,
    size: u32,
    function: u32,
    location: Option<u32>,
    ordinal: u32,
    group: Option<u32>,
}

/// The tables as they grow.
pub struct Tables {
    descs: Value,
    descs_label: String,
    rows: Vec<Row>,
    meta: Vec<u8>,
    strings: HashMap<Vec<u8>, u32>,
    locations: HashMap<usize, u32>,
    groups: Vec<Vec<GroupEntry>>,
    known_groups: HashMap<(Vec<GroupEntry>, bool), u32>,
    /// Private globals that only sections' readers know of.
    keep: Vec<Value>,
    /// Likewise, and no reference from live code keeps them through linking.
    retain: Vec<Value>,
    function: u32,
    ordinal: u32,
}

impl Tables {
    /// Empty tables for a module.
    pub fn new(ir: &Ir) -> Tables {
        // The descriptors' size is known at the end only; code refers to a stand-in until then.
        let descs = llvm!(LLVMAddGlobal(ir.module, ir.i8, c"dh_descs".as_ptr()));
        llvm!(LLVMSetLinkage(descs, LLVMLinkage::LLVMPrivateLinkage));
        let name = ir::name(descs);
        Tables {
            descs,
            descs_label: format!(".L{name}"),
            rows: Vec::new(),
            meta: Vec::new(),
            strings: HashMap::new(),
            locations: HashMap::new(),
            groups: Vec::new(),
            known_groups: HashMap::new(),
            keep: Vec::new(),
            retain: Vec::new(),
            function: 0,
            ordinal: 0,
        }
    }

    /// Sites from here on are of this function.
    pub fn begin_function(&mut self, name: &str) {
        self.function = self.string(name);
        self.ordinal = 0;
    }

    /// Number of descriptors.
    pub fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Adds a statement's descriptor and returns its index.
    pub fn add(&mut self, statement: &Statement) -> u32 {
        let (size, more_flags) = match statement.extent {
            Extent::Bytes(n) => (n, 0),
            Extent::Dynamic(_) | Extent::CopyOf(_) | Extent::Appended(_) => (0, FLAG_DYNAMIC),
            Extent::CString => (0, FLAG_CSTRING),
            Extent::None => (0, 0),
        };
        let location = self.location(debug_location::node(statement.owner));
        self.push(Row {
            kind: statement.kind,
            flags: statement.flags | more_flags,
            order: statement.order as u8 | (statement.failure_order as u8) << 4,
            align_log2: statement.align.max(1).ilog2() as u8,
            size,
            function: self.function,
            location,
            ordinal: 0,
            group: None,
        })
    }

    /// Adds the descriptor of the function's entry.
    pub fn add_entry(&mut self, function: Value) -> u32 {
        let subprogram = llvm!(llvm_sys::debuginfo::LLVMGetSubprogram(function));
        let location = (!subprogram.is_null()).then(|| self.function_location(function, subprogram));
        self.push(Row {
            kind: SiteKind::Entry,
            flags: 0,
            order: 0,
            align_log2: 0,
            size: 0,
            function: self.function,
            location,
            ordinal: 0,
            group: None,
        })
    }

    fn function_location(&mut self, function: Value, subprogram: LLVMMetadataRef) -> u32 {
        let (line, file, directory) = llvm!({
            let file = llvm_sys::debuginfo::LLVMDIScopeGetFile(subprogram);
            let mut length = 0;
            let mut text = |of: unsafe extern "C" fn(LLVMMetadataRef, *mut u32) -> *const std::ffi::c_char| {
                let start = of(file, &mut length);
                String::from_utf8_lossy(std::slice::from_raw_parts(start.cast::<u8>(), length as usize)).into_owned()
            };
            let (name, directory) = if file.is_null() {
                (String::new(), String::new())
            } else {
                (
                    text(llvm_sys::debuginfo::LLVMDIFileGetFilename),
                    text(llvm_sys::debuginfo::LLVMDIFileGetDirectory),
                )
            };
            (
                llvm_sys::debuginfo::LLVMDISubprogramGetLine(subprogram),
                name,
                directory,
            )
        });
        self.new_location(&file, &directory, &ir::name(function), line, 0, None)
    }

    fn push(&mut self, mut row: Row) -> u32 {
        row.ordinal = self.ordinal;
        self.ordinal += 1;
        self.rows.push(row);
        self.len() - 1
    }

    /// The descriptor of a check that stands for these statements; one exact statement needs no group.
    pub fn group(&mut self, entries: &[GroupEntry], inexact: bool) -> u32 {
        if let [(desc, 0, size, 0)] = *entries
            && !inexact
            && self.rows[desc as usize].size == size
        {
            return desc;
        }
        if let Some(known) = self.known_groups.get(&(entries.to_vec(), inexact)) {
            return *known;
        }
        let first = &self.rows[entries[0].0 as usize];
        let (align_log2, location) = (first.align_log2, first.location);
        self.groups.push(entries.to_vec());
        let row = Row {
            kind: SiteKind::Group,
            flags: if inexact { FLAG_INEXACT } else { 0 },
            order: 0,
            align_log2,
            size: 0,
            function: self.function,
            location,
            ordinal: 0,
            group: Some(self.groups.len() as u32 - 1),
        };
        let index = self.push(row);
        self.known_groups.insert((entries.to_vec(), inexact), index);
        index
    }

    /// A descriptor's address.
    pub fn address(&self, ir: &Ir, desc: u32) -> Value {
        let mut index = [ir.int(u64::from(desc) * SITE_SIZE as u64)];
        llvm!(LLVMConstGEP2(ir.i8, self.descs, index.as_mut_ptr(), 1))
    }

    /// A descriptor's address as assembly text.
    pub fn label(&self, desc: u32) -> String {
        format!("{}+{}", self.descs_label, desc as usize * SITE_SIZE)
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(known) = self.strings.get(text.as_bytes()) {
            return *known;
        }
        let at = self.meta.len() as u32;
        self.meta.extend(text.bytes().filter(|b| *b != 0));
        self.meta.push(0);
        self.strings.insert(text.as_bytes().to_vec(), at);
        at
    }

    fn location(&mut self, node: LLVMMetadataRef) -> Option<u32> {
        if node.is_null() {
            return None;
        }
        if let Some(known) = self.locations.get(&(node as usize)) {
            return Some(*known);
        }
        let location = debug_location::read(node)?;
        let inlined_at = self.location(location.inlined_at);
        let at = self.new_location(
            location.file,
            location.directory,
            location.function,
            location.line,
            location.column,
            inlined_at,
        );
        self.locations.insert(node as usize, at);
        Some(at)
    }

    fn new_location(
        &mut self,
        file: &str,
        directory: &str,
        function: &str,
        line: u32,
        column: u32,
        inlined_at: Option<u32>,
    ) -> u32 {
        let (file, directory, function) = (self.string(file), self.string(directory), self.string(function));
        self.meta.resize(self.meta.len().next_multiple_of(4), 0);
        let at = self.meta.len() as u32;
        let distance = |target: u32, field: u32| target.wrapping_sub(at + field);
        let words = [
            distance(file, 0),
            distance(directory, 4),
            line,
            column,
            inlined_at.map_or(0, |target| distance(target, 16)),
            distance(function, 20),
        ];
        self.meta.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        at
    }

    /// Adds the rows that make a function's entry patchable: its variants, and its entry site.
    pub fn add_variant(&mut self, ir: &Ir, plain: Value, detecting: Value, entry: u32) {
        let local = local_alias(ir, plain);
        let row = private_array(ir, "dh_variant", VARIANTS, 2);
        let to = [difference(ir, local, row, 0), difference(ir, detecting, row, -4)];
        self.follow(ir, row, plain, &to);
        let row = private_array(ir, "dh_entry", SITES, 2);
        let entry_offset = i64::from(entry) * SITE_SIZE as i64;
        let to = [
            difference(ir, local, row, 0),
            difference(ir, self.descs, row, entry_offset - 4),
        ];
        self.follow(ir, row, plain, &to);
    }

    /// Gives a row its words and ties it to its function: same comdat, dropped together.
    fn follow(&mut self, ir: &Ir, row: Value, function: Value, words: &[Value]) {
        let mut words = words.to_vec();
        llvm!({
            LLVMSetInitializer(row, LLVMConstArray2(ir.i32, words.as_mut_ptr(), words.len() as u64));
            let comdat = llvm_sys::comdat::LLVMGetComdat(function);
            if !comdat.is_null() {
                llvm_sys::comdat::LLVMSetComdat(row, comdat);
            }
            let kind = LLVMGetMDKindIDInContext(ir.context, c"associated".as_ptr(), 10);
            let mut node = [LLVMValueAsMetadata(function)];
            LLVMGlobalSetMetadata(row, kind, LLVMMDNodeInContext2(ir.context, node.as_mut_ptr(), 1));
        });
        self.keep.push(row);
    }

    /// Writes the tables into the module.
    pub fn write(mut self, ir: &Ir, unit: &crate::units::Unit) {
        let name = self.string(&unit.name);
        self.meta.resize(self.meta.len().next_multiple_of(8), 0);
        let meta = private_bytes(ir, &self.meta);
        let groups = self.write_groups(ir);
        self.write_descs(ir, meta, groups.as_ref());
        let row = private_array(ir, "dh_unit", UNITS, UNIT_SIZE / 4);
        let mut words = vec![ir.int32(VERSION as i32), difference(ir, meta, row, i64::from(name) - 4)];
        let counts = [
            self.len(),
            unit.functions,
            unit.assembly,
            unit.naked,
            unit.no_sanitize,
            unit.flags,
        ];
        words.extend(counts.iter().map(|n| ir.int32(*n as i32)));
        llvm!(LLVMSetInitializer(
            row,
            LLVMConstArray2(ir.i32, words.as_mut_ptr(), words.len() as u64)
        ));
        self.retain.push(row);
        self.keep.push(meta);
        append_used(ir, "llvm.compiler.used", &self.keep);
        append_used(ir, "llvm.used", &self.retain);
    }

    /// Groups lie in a global of their own; returns it with each group's offset.
    fn write_groups(&mut self, ir: &Ir) -> Option<(Value, Vec<u32>)> {
        if self.groups.is_empty() {
            return None;
        }
        let entry_words = GROUP_ENTRY_SIZE / 4;
        let total: usize = self
            .groups
            .iter()
            .map(|g| GROUP_HEAD_SIZE / 4 + g.len() * entry_words)
            .sum();
        let global = private_array(ir, "dh_groups", META, total);
        let mut words = Vec::with_capacity(total);
        let mut offsets = Vec::with_capacity(self.groups.len());
        let distance = Distance::new(ir, self.descs, global);
        for group in &self.groups {
            offsets.push(words.len() as u32 * 4);
            words.push(ir.int32(group.len() as i32));
            for (desc, offset, size, stride) in group {
                let field = words.len() as i64 * 4;
                words.push(distance.plus(ir, i64::from(*desc) * SITE_SIZE as i64 - field));
                words.extend([*offset, *size as i32, *stride as i32].map(|w| ir.int32(w)));
            }
        }
        llvm!(LLVMSetInitializer(
            global,
            LLVMConstArray2(ir.i32, words.as_mut_ptr(), words.len() as u64)
        ));
        self.keep.push(global);
        Some((global, offsets))
    }

    fn write_descs(&mut self, ir: &Ir, meta: Value, groups: Option<&(Value, Vec<u32>)>) {
        let words_per_row = SITE_SIZE / 4;
        let descs = private_array(ir, "dh_descs", DESCS, self.rows.len() * words_per_row);
        let to_meta = Distance::new(ir, meta, descs);
        let to_groups = groups.map(|(global, _)| Distance::new(ir, *global, descs));
        let mut words = Vec::with_capacity(self.rows.len() * words_per_row);
        for (n, row) in self.rows.iter().enumerate() {
            let at = (n * SITE_SIZE) as i64;
            let head = u32::from_le_bytes([row.kind as u8, row.flags, row.order, row.align_log2]);
            words.push(ir.int32(head as i32));
            words.push(ir.int32(row.size as i32));
            words.push(to_meta.plus(ir, i64::from(row.function) - at - 8));
            words.push(match row.location {
                Some(location) => to_meta.plus(ir, i64::from(location) - at - 12),
                None => ir.int32(0),
            });
            words.push(ir.int32(row.ordinal as i32));
            words.push(match (row.group, &to_groups, groups) {
                (Some(group), Some(distance), Some((_, offsets))) => {
                    distance.plus(ir, i64::from(offsets[group as usize]) - at - 20)
                }
                _ => ir.int32(0),
            });
        }
        llvm!({
            LLVMSetInitializer(descs, LLVMConstArray2(ir.i32, words.as_mut_ptr(), words.len() as u64));
            LLVMReplaceAllUsesWith(self.descs, descs);
            LLVMDeleteGlobal(self.descs);
            let name = c_string(self.descs_label.trim_start_matches(".L"));
            LLVMSetValueName2(descs, name.as_ptr(), name.as_bytes().len());
        });
        self.keep.push(descs);
    }
}
