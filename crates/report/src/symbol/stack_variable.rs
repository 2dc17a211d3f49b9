//! Local variables: which one lies at an address, given the registers of its frame.
//!
//! Compilers put variables whose scopes do not overlap into the same place. The one whose scope holds the code
//! address is meant; if none does, the only one at the address is.

use super::dwarf::{Debug, Entry, Slice, Unit};
use super::types;
use super::variables::Variables;
use super::{Registers, Variable};
use gimli::{AttributeValue, Expression, Operation};

/// Number of the frame pointer in DWARF.
const RBP: gimli::Register = gimli::Register(6);
/// Number of the stack pointer in DWARF.
const RSP: gimli::Register = gimli::Register(7);

/// A frame as expressions see it.
#[derive(Clone, Copy)]
struct Frame {
    base: u64,
    registers: Registers,
}

impl Variables {
    /// The local variable at `address` in the frame of the function that holds the code address.
    pub(super) fn local_at(&self, address: u64, registers: Registers) -> Option<Variable> {
        let pc = registers.pc;
        let candidates = self.functions.partition_point(|f| f.start <= pc);
        let function = self.functions[..candidates]
            .iter()
            .rev()
            .find(|f| pc < f.end.max(f.start + 1))?;
        let unit = self.debug.units.get(function.unit)?;
        let mut entries = unit.entries_at_offset(function.at).ok()?;
        let mut frame = None;
        let mut outer = None;
        // Scopes around the entry, by depth, with whether each holds the code address.
        let mut scopes: Vec<(isize, bool)> = Vec::new();
        let mut found: Vec<Variable> = Vec::new();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let first = *outer.get_or_insert(entry.depth());
            if entry.offset() == function.at {
                frame = Some(Frame {
                    base: frame_base(unit, entry, registers)?,
                    registers,
                });
                continue;
            }
            if entry.depth() <= first {
                break;
            }
            scopes.retain(|(depth, _)| *depth < entry.depth());
            match entry.tag() {
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                    scopes.push((entry.depth(), self.covers(unit, entry, pc)));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let Some(variable) = self.holding(unit, entry, frame?, address) else {
                        continue;
                    };
                    if scopes.iter().all(|(_, covers)| *covers) {
                        return Some(variable);
                    }
                    found.push(variable);
                }
                _ => {}
            }
        }
        match found.as_slice() {
            [first, others @ ..] if others.iter().all(|v| v.name == first.name) => Some(first.clone()),
            _ => None,
        }
    }

    /// The variable of an entry, if it holds the address.
    fn holding(&self, unit: &Unit, entry: &Entry, frame: Frame, address: u64) -> Option<Variable> {
        let of = self.debug.type_of(unit, entry)?;
        let size = types::size(unit, of).max(1);
        let start = places(&self.debug, unit, entry, frame)
            .into_iter()
            .find(|start| *start <= address && address - start < size)?;
        let offset = address - start;
        let name = self.debug.name(unit, entry)?;
        Some(Variable {
            name: name + &types::path(&self.debug, unit, of, offset),
            size,
            offset,
        })
    }

    /// Whether a scope holds a code address; one without ranges is taken to.
    fn covers(&self, unit: &Unit, entry: &Entry, pc: u64) -> bool {
        let Ok(mut ranges) = self.debug.dwarf.die_ranges(unit, entry) else {
            return true;
        };
        let mut any = false;
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&pc) {
                return true;
            }
            any = true;
        }
        !any
    }
}

/// The function's frame base: the frame pointer, or the address above the saved one and the return address.
fn frame_base(unit: &Unit, entry: &Entry, registers: Registers) -> Option<u64> {
    let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_frame_base) else {
        return None;
    };
    match expression.operations(unit.encoding()).next().ok()?? {
        Operation::Register { register: RBP } => Some(registers.frame),
        Operation::Register { register: RSP } if registers.stack != 0 => Some(registers.stack),
        Operation::CallFrameCFA => registers.frame.checked_add(16),
        _ => None,
    }
}

/// Addresses at which a variable lies in some part of its function.
fn places(debug: &Debug, unit: &Unit, entry: &Entry, frame: Frame) -> Vec<u64> {
    let place = |expression: Expression<Slice>| {
        let mut operations = expression.operations(unit.encoding());
        let base = match operations.next().ok()?? {
            Operation::FrameOffset { offset } => frame.base.checked_add_signed(offset),
            Operation::RegisterOffset {
                register: RBP, offset, ..
            } => frame.registers.frame.checked_add_signed(offset),
            Operation::RegisterOffset {
                register: RSP, offset, ..
            } if frame.registers.stack != 0 => frame.registers.stack.checked_add_signed(offset),
            _ => None,
        };
        // More than an address: a value that is computed, or found through a pointer.
        base.filter(|_| matches!(operations.next(), Ok(None)))
    };
    match entry.attr_value(gimli::DW_AT_location) {
        Some(AttributeValue::Exprloc(expression)) => place(expression).into_iter().collect(),
        Some(list) => {
            let mut found = Vec::new();
            if let Ok(Some(mut locations)) = debug.dwarf.attr_locations(unit, list) {
                while let Ok(Some(location)) = locations.next() {
                    found.extend(place(location.data));
                }
            }
            found
        }
        None => Vec::new(),
    }
}
