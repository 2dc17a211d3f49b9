//! What is told of a translation unit as a whole: counts of what was watched and what was not.

/// The unit's row, but for the number of sites.
#[derive(Default)]
pub struct Unit {
    /// Source name.
    pub name: String,
    /// Functions with sites.
    pub functions: u32,
    /// Inline assembly with memory operands.
    pub assembly: u32,
    /// `naked` functions.
    pub naked: u32,
    /// Functions excluded by their attributes.
    pub no_sanitize: u32,
    /// `UNIT_*`.
    pub flags: u32,
}
