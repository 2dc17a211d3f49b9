//! Source locations.

use crate::ids::{LocationId, StringId};
use serde::{Deserialize, Serialize};

/// A place in the source, with the calls that were inlined around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// File as the compiler was given it (relative to the compilation directory, or absolute).
    pub file: StringId,
    /// The function whose source this is, by its linkage name where it has one.
    pub function: StringId,
    /// Line, from 1; 0 where the compiler made the instruction up.
    pub line: u32,
    /// Column, from 1; 0 where unknown.
    pub column: u32,
    /// Where the function was inlined, if it was.
    pub inlined_at: Option<LocationId>,
}
