//! To be filled by its first version.
