//! deadheat's command line ([`cli`]) and its compiler drivers ([`driver`]).
#![forbid(unsafe_code)]

pub mod cli;
pub mod driver;
