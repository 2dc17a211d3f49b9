//! Threads of the program as the scheduler sees them. (First version: vocabulary only.)

/// A thread.
pub struct Thread {}
