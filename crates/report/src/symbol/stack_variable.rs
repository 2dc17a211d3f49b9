//! Local variables: which one lies at an address, given the frame pointer of its frame.

use super::Variable;
use super::dwarf::{Debug, Entry, Slice, Unit};
use super::types;
use super::variables::Variables;
use gimli::{AttributeValue, Expression, Operation};

/// Number of the frame pointer in DWARF (`rbp`).
const RBP: gimli::Register = gimli::Register(6);

impl Variables {
    /// The local variable at `address` in the frame of the function that holds the code address `pc`.
    pub(super) fn local_at(&self, address: u64, frame_pointer: u64, pc: u64) -> Option<Variable> {
        let candidates = self.functions.partition_point(|f| f.start <= pc);
        let function = self.functions[..candidates]
            .iter()
            .rev()
            .find(|f| pc < f.end.max(f.start + 1))?;
        let unit = self.debug.units.get(function.unit)?;
        let mut entries = unit.entries_at_offset(function.at).ok()?;
        let mut base = None;
        let mut outer = None;
        while let Ok(Some(entry)) = entries.next_dfs() {
            let first = *outer.get_or_insert(entry.depth());
            if entry.offset() == function.at {
                base = Some(frame_base(unit, entry, frame_pointer)?);
                continue;
            }
            if entry.depth() <= first {
                break;
            }
            let local = matches!(entry.tag(), gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter);
            let Some(of) = self.debug.type_of(unit, entry).filter(|_| local) else {
                continue;
            };
            let size = types::size(unit, of).max(1);
            let holds = |start: u64| start <= address && address - start < size;
            if let Some(start) = places(&self.debug, unit, entry, base?, frame_pointer)
                .into_iter()
                .find(|s| holds(*s))
            {
                let offset = address - start;
                let name = self.debug.name(unit, entry)?;
                return Some(Variable {
                    name: name + &types::path(&self.debug, unit, of, offset),
                    size,
                    offset,
                });
            }
        }
        None
    }
}

/// The function's frame base: the frame pointer, or the address above the saved one and the return address.
fn frame_base(unit: &Unit, entry: &Entry, frame_pointer: u64) -> Option<u64> {
    let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_frame_base) else {
        return None;
    };
    match expression.operations(unit.encoding()).next().ok()?? {
        Operation::Register { register: RBP } => Some(frame_pointer),
        Operation::CallFrameCFA => frame_pointer.checked_add(16),
        _ => None,
    }
}

/// Addresses at which a variable lies in some part of its function.
fn places(debug: &Debug, unit: &Unit, entry: &Entry, base: u64, frame_pointer: u64) -> Vec<u64> {
    let place = |expression: Expression<Slice>| {
        let operation = expression.operations(unit.encoding()).next().ok()??;
        match operation {
            Operation::FrameOffset { offset } => base.checked_add_signed(offset),
            Operation::RegisterOffset {
                register: RBP, offset, ..
            } => frame_pointer.checked_add_signed(offset),
            _ => None,
        }
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
