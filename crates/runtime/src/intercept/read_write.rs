//! Placeholder of the first version.
