//! Static race detection by relative locksets: RELAY (Voung, Jhala, Lerner, FSE 2007), and answers to what it left
//! open.
//!
//! In the order in which a program goes through it ([`scan::scan`]):
//!
//! 1. [`subject`]: the program with the [`models`] of library functions and what points-to knows.
//! 2. [`bottom_up`]: each function is executed symbolically by itself ([`execution`], over [`state`]s of
//!    [`access_path`]s, [`symbolic_value`]s, [`fact`]s and [`relative_lockset`]s); its [`summary`] says what it does to
//!    whoever calls it.
//! 3. [`top_down`]: from each [`thread_root`] on, functions are executed again in the contexts in which they are called;
//!    their accesses are collected as classes of [`guarded_access`]es under [`guard`]s.
//! 4. [`warning`]: classes that may be to one place, that no lock and no order ([`parallelism`]) keeps apart, by [`rank`];
//!    [`lock_order`]: cycles, and locks left behind.
//!
//! RELAY's six families of false alarms are met by analyses: *initialisation* by objects that are private until they are
//! published; *unlikely aliasing* by access paths first, points-to last; *unsharing* is left to ranking; *re-entrant locks*
//! by levels; *non-parallel threads* by creation, join, once and barriers; *conditional locking* by states and summaries
//! that are split by what decides.
//!
//! Architecture invariant: no I/O, no clock, no LLVM, no unsafe; results do not depend on the number of threads.
#![forbid(unsafe_code)]

pub mod access_path;
pub mod bottom_up;
mod bucket;
mod calls;
mod deciding;
mod entering;
pub mod evaluation;
pub mod execution;
pub mod fact;
pub mod guard;
pub mod guarded_access;
mod interned;
mod joined_entry;
mod lent_lock;
mod library_calls;
mod likeness;
pub mod lock_order;
mod memo;
pub mod models;
pub mod naming;
mod observation;
mod own_frame;
mod own_terms;
pub mod parallelism;
pub mod path_map;
pub mod points_to;
pub mod rank;
pub mod relative_lockset;
mod relative_view;
pub mod scan;
pub mod shape;
pub mod start_only;
pub mod state;
pub mod subject;
pub mod summary;
pub mod symbolic_value;
pub mod thread_root;
pub mod top_down;
mod transfer;
pub mod waited;
pub mod warning;

pub use models::Models;
pub use scan::{Options, Remembered, Scan, ScanError, scan, scan_again};
