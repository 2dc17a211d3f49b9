//! The vocabulary of deadheat: threads, sites, accesses, locks, evidence, verdicts.
//!
//! Every other crate speaks in these words. Architecture invariant: no I/O, no clock, no unsafe,
//! no `std`; what is here is data and the rules that need nothing but the data.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod access;
mod finding;
mod function_span;
mod misuse;
mod object;
mod operation;
mod site;
mod thread;

pub use access::{Access, AccessKind, ByteRange};
pub use finding::{Evidence, FindingKind, Harm, HarmKind, Verdict};
pub use function_span::{FunctionSpan, FunctionSpans};
pub use misuse::MisuseKind;
pub use object::{LockMode, ObjectId, ObjectKind};
pub use operation::{CyclePart, Operation, WaitReason, Wanted};
pub use site::{MemoryOrder, SiteId, SiteKind};
pub use thread::ThreadId;
