//! The layouts that two parts of deadheat share, versioned.
//!
//! - [`object`]: what the pass writes into object files, the runtime patches by and the tool reads;
//! - [`plan`]: what the tool tells the runtime of one run;
//! - [`record`]: what the runtime tells the tool;
//! - [`sites`]: the reader of those tables in a linked file;
//! - [`server`]: what the tool and a server of runs say to each other;
//! - [`lowering`]: what the tool and the worker that lowers bitcode say to each other;
//! - [`channel`]: the file through which records pass, safe against a process that dies at any point.
//!
//! Architecture invariant: no unsafe and no I/O here; `no_std` with `alloc`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod calls;
pub mod channel;
pub mod lowering;
pub mod object;
pub mod plan;
pub mod record;
pub mod server;
pub mod sites;
pub mod trace;

/// Version of the layouts by which tool and runtime talk; parts that disagree refuse to work together by name. What the
/// compiled code of a program holds has [`object::VERSION`].
pub const VERSION: u32 = 18;
