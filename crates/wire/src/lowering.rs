//! What the tool and its lowering worker say to each other: frames over the worker's standard input and output.
//!
//! A frame is a `u64` length and so many bytes, a value of this module in postcard's form. The tool sends one
//! [`Settings`], then one [`Request`] after another; the worker answers each with one [`Reply`] and ends at the end of
//! its input. A worker that dies leaves a request unanswered: that is how the tool learns of LLVM's aborts.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Version of the frames and of the representation in [`Reply::Module`]; part of each cache key. Raise it whenever
/// what a module is lowered to changes.
pub const VERSION: u32 = 1;

/// How modules are to be lowered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Names of functions that must stay calls, because a model knows them; a `*` at the end stands for anything.
    pub keep: Vec<String>,
    /// No inlining and no promotion to registers: each instruction as the front end made it.
    pub verbatim: bool,
}

/// A module to be lowered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Where it comes from, for messages and the result's provenance.
    pub origin: String,
    /// Bitcode, or a zstd frame of it.
    pub bitcode: Vec<u8>,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The module in the representation of crate `ir`, in postcard's form.
    Module(Vec<u8>),
    /// Why it could not be lowered.
    Refused(String),
}
