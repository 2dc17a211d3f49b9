//! The variables of one file: static ones by address, thread-local ones by offset, functions for locals.

use super::Variable;
use super::dwarf::{Debug, Entry, Slice, Unit};
use super::types;
use gimli::{AttributeValue, Expression, Operation, UnitOffset};
use std::path::Path;

/// A static or thread-local variable.
struct Static {
    start: u64,
    size: u64,
    name: String,
    unit: usize,
    of: Option<UnitOffset>,
}

/// A function's code and where its entry is.
pub(super) struct Function {
    pub start: u64,
    pub end: u64,
    pub unit: usize,
    pub at: UnitOffset,
}

/// Index over a file's variables.
#[derive(Default)]
pub(super) struct Variables {
    pub(super) debug: Debug,
    pub(super) functions: Vec<Function>,
    statics: Vec<Static>,
    thread_locals: Vec<Static>,
}

/// Where a variable lies, if that does not depend on a frame.
enum Location {
    Address(u64),
    ThreadLocal(u64),
}

impl Variables {
    pub(super) fn read(path: &Path) -> Variables {
        let mut index = Variables {
            debug: Debug::read(path),
            ..Variables::default()
        };
        for unit in 0..index.debug.units.len() {
            index.add_unit(unit);
        }
        index.statics.sort_by_key(|v| v.start);
        index.functions.sort_by_key(|f| f.start);
        index
    }

    fn add_unit(&mut self, number: usize) {
        let unit = &self.debug.units[number];
        let mut scopes: Vec<(isize, String)> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let depth = entry.depth();
            scopes.retain(|(d, _)| *d < depth);
            match entry.tag() {
                gimli::DW_TAG_namespace => {
                    let name = self
                        .debug
                        .name(unit, entry)
                        .unwrap_or_else(|| "(anonymous namespace)".into());
                    scopes.push((depth, name));
                }
                gimli::DW_TAG_subprogram => {
                    let mut ranges = match self.debug.dwarf.die_ranges(unit, entry) {
                        Ok(ranges) => ranges,
                        Err(_) => continue,
                    };
                    while let Ok(Some(range)) = ranges.next() {
                        let function = Function {
                            start: range.begin,
                            end: range.end,
                            unit: number,
                            at: entry.offset(),
                        };
                        self.functions.push(function);
                    }
                }
                gimli::DW_TAG_variable => {
                    let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location) else {
                        continue;
                    };
                    let Some(location) = fixed(&self.debug, unit, &expression) else {
                        continue;
                    };
                    let variable = variable(&self.debug, unit, number, entry, &scopes);
                    match location {
                        Location::Address(start) if start > 0 => self.statics.push(Static { start, ..variable }),
                        Location::ThreadLocal(start) => self.thread_locals.push(Static { start, ..variable }),
                        Location::Address(_) => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// The static variable at an address of the file.
    pub(super) fn static_at(&self, address: u64) -> Option<Variable> {
        let before = self.statics.partition_point(|v| v.start <= address);
        let named = self.statics[..before]
            .iter()
            .rev()
            .take(8)
            .find(|v| address - v.start < v.size.max(1));
        named
            .map(|v| self.describe(v, address - v.start))
            .or_else(|| self.symbol_at(address))
    }

    fn symbol_at(&self, address: u64) -> Option<Variable> {
        let before = self.debug.symbols.partition_point(|s| s.address <= address);
        let symbol = self.debug.symbols[..before]
            .last()
            .filter(|s| address - s.address < s.size.max(1))?;
        let offset = address - symbol.address;
        let name = if offset > 0 {
            format!("{}+{offset}", symbol.name)
        } else {
            symbol.name.clone()
        };
        Some(Variable {
            name,
            size: symbol.size,
            offset,
        })
    }

    /// The thread-local variable at an offset from the thread pointer (the block ends there).
    pub(super) fn thread_local_at(&self, offset: i64) -> Option<Variable> {
        let at = offset.checked_add_unsigned(self.debug.thread_local_size)?;
        let at = u64::try_from(at).ok()?;
        let found = self
            .thread_locals
            .iter()
            .find(|v| v.start <= at && at - v.start < v.size.max(1))?;
        Some(self.describe(found, at - found.start))
    }

    fn describe(&self, variable: &Static, offset: u64) -> Variable {
        let path = variable
            .of
            .map(|of| types::path(&self.debug, &self.debug.units[variable.unit], of, offset));
        let name = format!("{}{}", variable.name, path.unwrap_or_default());
        Variable {
            name,
            size: variable.size,
            offset,
        }
    }
}

fn variable(debug: &Debug, unit: &Unit, number: usize, entry: &Entry, scopes: &[(isize, String)]) -> Static {
    let name = debug.name(unit, entry).unwrap_or_default();
    let scope: String = scopes.iter().map(|(_, s)| format!("{s}::")).collect();
    let of = debug.type_of(unit, entry);
    let size = of.map_or(0, |t| types::size(unit, t));
    Static {
        start: 0,
        size,
        name: scope + &name,
        unit: number,
        of,
    }
}

/// Evaluates the expressions that compilers write for static and thread-local variables.
fn fixed(debug: &Debug, unit: &Unit, expression: &Expression<Slice>) -> Option<Location> {
    let mut operations = expression.clone().operations(unit.encoding());
    let mut top = None;
    let mut thread_local = false;
    while let Ok(Some(operation)) = operations.next() {
        match operation {
            Operation::Address { address } => top = Some(address),
            Operation::AddressIndex { index } => top = debug.dwarf.address(unit, index).ok(),
            Operation::UnsignedConstant { value } => top = Some(value),
            Operation::PlusConstant { value } => top = top.map(|t| t.wrapping_add(value)),
            Operation::TLS => thread_local = true,
            // A constant only relative to the linker's choice: not seen in linked files.
            Operation::ConstantIndex { .. } => return None,
            Operation::Piece { .. } | Operation::StackValue => return None,
            _ => return None,
        }
    }
    top.map(|t| {
        if thread_local {
            Location::ThreadLocal(t)
        } else {
            Location::Address(t)
        }
    })
}
