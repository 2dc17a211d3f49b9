//! Interposed functions, one family a file.
