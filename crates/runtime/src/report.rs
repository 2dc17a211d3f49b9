//! The record channel. (First version: signatures.)

use deadheat_wire::record::Record;

/// Appends a record.
pub fn write(_record: &Record) {}
