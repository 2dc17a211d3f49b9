//! Types: sizes, and the member or element at an offset.

use super::dwarf::{Debug, Entry, Unit, constant, reference};
use gimli::UnitOffset;

/// Deepest nesting of types that is followed.
const DEEPEST: u32 = 32;

/// Follows typedefs and qualifiers to the type itself.
fn resolve(unit: &Unit, mut at: UnitOffset) -> Option<Entry> {
    for _ in 0..DEEPEST {
        let entry = unit.entry(at).ok()?;
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => at = reference(&entry, gimli::DW_AT_type)?,
            _ => return Some(entry),
        }
    }
    None
}

/// Lengths of an array's dimensions; 0 where unknown.
fn dimensions(unit: &Unit, array: &Entry) -> Vec<u64> {
    let mut found = Vec::new();
    let Ok(mut tree) = unit.entries_tree(Some(array.offset())) else {
        return found;
    };
    let Ok(root) = tree.root() else { return found };
    let mut children = root.children();
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        if entry.tag() == gimli::DW_TAG_subrange_type {
            let bound = || constant(entry, gimli::DW_AT_upper_bound).and_then(|b| b.checked_add(1));
            found.push(constant(entry, gimli::DW_AT_count).or_else(bound).unwrap_or(0));
        }
    }
    found
}

/// Size of a type in bytes; 0 unknown.
pub(super) fn size(unit: &Unit, at: UnitOffset) -> u64 {
    sized(unit, at, DEEPEST)
}

fn sized(unit: &Unit, at: UnitOffset, depth: u32) -> u64 {
    let Some(entry) = resolve(unit, at).filter(|_| depth > 0) else {
        return 0;
    };
    if let Some(size) = constant(&entry, gimli::DW_AT_byte_size) {
        return size;
    }
    match entry.tag() {
        gimli::DW_TAG_array_type => {
            let element = reference(&entry, gimli::DW_AT_type).map_or(0, |t| sized(unit, t, depth - 1));
            dimensions(unit, &entry)
                .iter()
                .fold(element, |a, b| a.saturating_mul(*b))
        }
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => 8,
        _ => 0,
    }
}

/// The way from a variable of this type to the member or element at an offset: `[3].balance`.
pub(super) fn path(debug: &Debug, unit: &Unit, mut at: UnitOffset, mut offset: u64) -> String {
    let mut text = String::new();
    for _ in 0..DEEPEST {
        let Some(entry) = resolve(unit, at) else { break };
        let step = match entry.tag() {
            gimli::DW_TAG_array_type => element(unit, &entry, offset),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => member(debug, unit, &entry, offset),
            _ => None,
        };
        let Some((part, next, rest)) = step else { break };
        text += &part;
        (at, offset) = (next, rest);
    }
    if offset > 0 { text + &format!("+{offset}") } else { text }
}

fn element(unit: &Unit, array: &Entry, offset: u64) -> Option<(String, UnitOffset, u64)> {
    let of = reference(array, gimli::DW_AT_type)?;
    let width = size(unit, of);
    let mut index = offset.checked_div(width)?;
    let mut parts = Vec::new();
    for length in dimensions(unit, array).iter().skip(1).rev() {
        parts.push(format!("[{}]", index.checked_rem(*length)?));
        index /= length;
    }
    parts.push(format!("[{index}]"));
    parts.reverse();
    Some((parts.concat(), of, offset % width))
}

fn member(debug: &Debug, unit: &Unit, structure: &Entry, offset: u64) -> Option<(String, UnitOffset, u64)> {
    let mut tree = unit.entries_tree(Some(structure.offset())).ok()?;
    let mut children = tree.root().ok()?.children();
    let mut best = None;
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        let inherited = entry.tag() == gimli::DW_TAG_inheritance;
        if entry.tag() != gimli::DW_TAG_member && !inherited {
            continue;
        }
        let Some(of) = reference(entry, gimli::DW_AT_type) else {
            continue;
        };
        let bits = constant(entry, gimli::DW_AT_data_bit_offset).map(|b| b / 8);
        let Some(start) = constant(entry, gimli::DW_AT_data_member_location).or(bits) else {
            continue;
        };
        if start <= offset && offset < start + size(unit, of).max(1) {
            let name = if inherited { None } else { debug.name(unit, entry) };
            best.get_or_insert((name.map(|n| format!(".{n}")).unwrap_or_default(), of, offset - start));
        }
    }
    best
}
