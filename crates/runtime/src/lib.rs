//! The library that is linked into programs: it takes control of their threads when a plan asks for
//! it, and is out of the way when none does.
//!
//! Layers, lower ones first; each uses only what stands above it in this list:
//! - [`sys`], [`region`], [`bytes`], [`tls`], [`real`]: system calls, own memory, own `mem*`, the
//!   functions that ours stand in front of;
//! - [`report`]: the record channel; [`images`]: what is loaded into the process;
//! - [`thread`], [`wait`], [`trail`], [`switching`], [`token`], [`journal`], [`stuck`], [`event_trace`]: the scheduler;
//! - [`clock`], [`descriptors`], [`signals`], [`ending`]: time, the world outside, signals, how a run ends;
//! - [`intercept`]: one file per family of interposed functions;
//! - [`site`], [`call_sites`], [`shadow`], [`check`], [`outside`], [`thunks`], [`range`], [`memo`], [`observe`], [`granules`],
//!   [`statements`], [`targets`], [`meeting`], [`unordered`], [`lock_order`], [`spin`], [`heap`], [`stack`], [`unwind`],
//!   [`memory`], [`misuse`], [`annotations`]: sites, detection, confirmation, calls that break their contract, excuses;
//! - [`concolic`]: expressions over the input, in a program's symbolic flavour;
//! - [`start`]: puts all this to work; [`serve`]: does so again and again, in forks of the program.
//!
//! Invariants: exactly one thread holds the token and only it touches scheduler state; no thread
//! blocks in the kernel by itself; the program's `malloc` and no interposed function are ever called
//! on our own account; without a plan nothing but the call of the real function happens. Foreign
//! exceptions and cancellation may cross the frames of interposers, so these hold nothing that needs
//! dropping across such a call.
#![no_std]
// Interposed functions are as safe as the C library's of the same name: that is their contract.
#![allow(clippy::missing_safety_doc)]
// Macros bring their own unsafe blocks, also where they are used inside one.
#![allow(unused_unsafe)]

extern crate alloc;

mod annotations;
mod bytes;
mod call_sites;
mod check;
mod clock;
mod concolic;
mod descriptors;
mod ending;
mod event_trace;
mod family;
mod functions;
mod granules;
mod heap;
mod held;
mod images;
mod inside;
mod intercept;
mod journal;
mod lock_order;
mod meeting;
mod memo;
mod memory;
mod misuse;
mod objects;
mod observe;
mod outside;
mod peer;
mod processor;
mod quarantine;
mod range;
mod real;
mod region;
mod report;
mod rest;
mod serve;
mod shadow;
mod signals;
mod site;
mod spin;
mod stack;
mod stacks;
mod start;
mod statements;
mod stuck;
mod successions;
mod switching;
mod sys;
mod targets;
mod thread;
mod thunks;
mod timers;
mod tls;
mod token;
mod trail;
mod unordered;
mod unwind;
mod wait;
