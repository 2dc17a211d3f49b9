//! Modules whose compiled code is of another version: they are not watched, and said to be not.
//!
//! Each translation unit carries the version of its layouts, and so does the table of each linked module. A module with
//! one of another version cannot be used in part, since its descriptors are rows of one table.

use super::ModuleTables;
use crate::report;
use crate::start::refuse;
use alloc::format;
use alloc::string::String;
use deadheat_wire::object::{UNIT_SIZE, VERSION};
use deadheat_wire::record::{Notice, Record};

/// What is wrong with a module's version, in words; none if it can be watched.
pub fn objection(tables: &ModuleTables) -> Option<String> {
    let (mut other, mut all, mut found) = (0u32, 0u32, tables.version);
    // Of the table of another version nothing more is known.
    if found == VERSION && tables.units[0] != 0 {
        for row in (tables.units[0]..tables.units[1]).step_by(UNIT_SIZE) {
            // SAFETY: the first word of a row of the module's table.
            let version = unsafe { (row as *const u32).read_unaligned() };
            all += 1;
            if version != VERSION {
                other += 1;
                found = version;
            }
        }
    }
    if found == VERSION {
        return None;
    }
    let part = match other {
        0 => String::new(),
        n => format!("{n} of its {all} source files were "),
    };
    Some(format!(
        "{part}compiled by another version of deadheat (layout {found}, the runtime's is {VERSION})"
    ))
}

/// Says that a module is not watched; ends the run if it is the executable. `at` lies in it.
pub fn object_to(at: u64, objection: &str) {
    let (path, _) = crate::memory::module_of(at);
    if path == crate::memory::executable() {
        refuse(&format!("{path}: {objection}: build it again, all of it"));
    }
    report::write(&Record::Notice(Notice::Unwatched {
        library: path,
        why: format!("{objection}; build it again, all of it"),
    }));
    // What it does may synchronise unseen.
    crate::unordered::stop();
}
