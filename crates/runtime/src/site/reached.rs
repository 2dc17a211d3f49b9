//! Which statements run while there are several threads, and in which: asked when functions are measured, so that two
//! inputs can be told apart that run the same functions, but not the same parts of them.
//!
//! From the creation of the first thread on, the NOP of each statement is a jump to a stub that notes the running thread,
//! and puts the NOP back after [`LOOKS`] times; when a further thread begins, the jump is there again. So a statement
//! costs something a few times for each thread only, and which threads are noted for it depends on how their turns lie:
//! those that come to it among the first. The pages of the program's code stay writable in such a run. One thread runs
//! at a time, so nobody meets an instruction that is half written; a processor that still has the jump in its pipeline
//! comes to the stub once more, which does the same again.

use super::decode::{self, MAX_LEN};
use super::near::{self, Pages};
use super::patch;
use super::{Module, REGISTRY, functions, stub, synchronises};
use crate::held::Held;
use crate::report;
use alloc::vec::Vec;
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU64};
use deadheat_model::{SiteKind, ThreadId};
use deadheat_wire::object::PATCH_SIZE;
use deadheat_wire::record::{Notice, Reached, Record};

/// Most statements that are watched in a run.
const MOST: usize = 1 << 20;
/// Bytes of a jump.
const JUMP: usize = 5;
/// Room for a stub.
const STUB: usize = 64;
/// How often a statement is looked at before its NOP is put back.
const LOOKS: i32 = 32;

/// A statement that is waited for.
#[repr(C)]
struct Statement {
    /// Address of its NOP.
    nop: u64,
    /// The NOP's bytes that the jump takes, the rest 0.
    bytes: u64,
    /// The threads in which it ran: a bit for each, those of a thread with a number from 64 on at the remainder.
    threads: AtomicU64,
    /// How often it is still looked at.
    looks: AtomicI32,
    /// The jump's bytes, the rest 0; 0 if there is none.
    jump: AtomicU64,
    /// Its descriptor's index.
    site: u32,
    /// Index of its function's entry.
    entry: u32,
}

struct Watched {
    /// The running thread's bit.
    running: u64,
    /// Those of the threads that began.
    began: u64,
    on: bool,
    /// Those of each module that was switched on, by the module's number.
    modules: Vec<(u16, &'static [Statement])>,
    cut: usize,
}

static WATCHED: Held<Watched> = Held::new(Watched {
    running: 1,
    began: 1,
    on: false,
    modules: Vec::new(),
    cut: 0,
});

global_asm!(
    ".pushsection .text.dh_reached,\"ax\",@progbits",
    ".globl dh_site_reached",
    ".hidden dh_site_reached",
    ".type dh_site_reached,@function",
    ".balign 16",
    "dh_site_reached:",
    ".cfi_startproc",
    ".cfi_def_cfa rsp, 160",
    "mov rsi, [rip + {watched} + {running}]",
    "or [rdx + {threads}], rsi",
    "dec dword ptr [rdx + {looks}]",
    "jg 2f",
    "mov rdi, [rdx + {nop}]",
    // What follows the five bytes may be another statement's, and stays as it is.
    "mov rsi, [rdi]",
    "shr rsi, 40",
    "shl rsi, 40",
    "or rsi, [rdx + {bytes}]",
    "mov [rdi], rsi",
    "2:",
    "ret",
    ".cfi_endproc",
    ".size dh_site_reached, . - dh_site_reached",
    ".popsection",
    nop = const offset_of!(Statement, nop),
    bytes = const offset_of!(Statement, bytes),
    threads = const offset_of!(Statement, threads),
    looks = const offset_of!(Statement, looks),
    watched = sym WATCHED,
    running = const offset_of!(Watched, running),
);

unsafe extern "C" {
    fn dh_site_reached();
}

/// There are going to be several threads: from now on it counts.
pub fn begin() {
    let watched = WATCHED.get();
    if core::mem::replace(&mut watched.on, true) {
        return;
    }
    for module in &REGISTRY.get().modules {
        watched.add(module);
    }
}

/// This thread runs now.
pub fn switched(to: ThreadId) {
    let watched = WATCHED.get();
    watched.running = 1 << (to.0 % 64);
    let first = watched.began & watched.running == 0;
    watched.began |= watched.running;
    if first && watched.on {
        let all = watched.modules.iter().flat_map(|(_, statements)| *statements);
        all.for_each(Statement::look_again);
    }
}

/// A module was switched on.
pub fn attached(module: &Module) {
    let watched = WATCHED.get();
    if watched.on {
        watched.add(module);
    }
}

/// Writes down which ran.
pub fn finish() {
    let watched = WATCHED.get();
    watched.on = false;
    for (module, statements) in core::mem::take(&mut watched.modules) {
        let ran = |s: &Statement| (s.entry, s.site, s.threads.load(Relaxed));
        let mut sites: Vec<(u32, u32, u64)> = statements.iter().map(ran).filter(|s| s.2 != 0).collect();
        sites.sort_unstable();
        // One for all places in the code that the site has.
        sites.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 |= if same { next.2 } else { 0 };
            same
        });
        report::write(&Record::Reached(Reached { module, sites }));
    }
    if watched.cut > 0 {
        report::write(&Record::Notice(Notice::Cut {
            what: "statements of which it is not known whether they ran".into(),
            count: watched.cut as u64,
        }));
    }
}

impl Watched {
    fn add(&mut self, module: &Module) {
        let entries = functions::entries(module);
        let room = MOST.saturating_sub(self.modules.iter().map(|(_, s)| s.len()).sum());
        let mut statements = Vec::new();
        for row in module.sites.clone().step_by(PATCH_SIZE) {
            let Some(site) = module.site(patch::relative(row + 4)) else {
                continue;
            };
            if synchronises(site.kind) || matches!(site.kind, SiteKind::Entry | SiteKind::Exit) {
                continue;
            }
            // Those of a function without an entry belong to none that is measured.
            let Some(entry) = entries[..entries.partition_point(|e| *e <= site.id.index)].last() else {
                continue;
            };
            if statements.len() == room {
                self.cut += 1;
                continue;
            }
            let nop = patch::relative(row);
            let mut bytes = [0; 8];
            bytes[..JUMP].copy_from_slice(&patch::bytes::<JUMP>(nop));
            statements.push(Statement {
                nop,
                bytes: u64::from_le_bytes(bytes),
                threads: AtomicU64::new(0),
                looks: AtomicI32::new(LOOKS),
                jump: AtomicU64::new(0),
                site: site.id.index,
                entry: *entry,
            });
        }
        if statements.is_empty() {
            return;
        }
        // The stubs hold their addresses, and may run until the process is gone.
        let statements: &[Statement] = statements.leak();
        self.cut += statements.len() - switch_on(statements);
        self.modules.push((module.number, statements));
    }
}

/// Writes the jumps; how many.
fn switch_on(statements: &'static [Statement]) -> usize {
    let nops = || statements.iter().map(|s| s.nop);
    let (Some(low), Some(high)) = (nops().min(), nops().max()) else {
        return 0;
    };
    let size = (statements.len() * STUB + 16) as u64;
    let Some(mut pages) = Pages::reserve(low, high, size) else {
        return 0;
    };
    let handler = dh_site_reached as *const () as u64;
    let Some(handler) = pages.put(&handler.to_le_bytes()) else {
        return 0;
    };
    let mut jumps: Vec<(&Statement, u64)> = Vec::with_capacity(statements.len());
    for statement in statements {
        let call = stub::Call {
            handler,
            row: &raw const *statement as u64,
        };
        let jump = decode::decode(&patch::bytes::<MAX_LEN>(statement.nop))
            .filter(|nop| nop.len >= JUMP)
            .and_then(|nop| stub::bare(pages.next(), statement.nop + nop.len as u64, &call))
            .and_then(|code| pages.put(&code))
            .and_then(|at| stub::jump(statement.nop, at));
        let mut bytes = [0; 8];
        jumps.extend(jump.map(|code| {
            bytes[..JUMP].copy_from_slice(&code);
            (statement, u64::from_le_bytes(bytes))
        }));
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // The stubs write whole words.
    if !pages.seal() || !near::protect(low, high + 8 - low, protection) {
        return 0;
    }
    for (statement, code) in &jumps {
        statement.jump.store(*code, Relaxed);
        statement.put_jump(*code);
    }
    jumps.len()
}

impl Statement {
    /// Writes the jump.
    fn put_jump(&self, code: u64) {
        // SAFETY: a NOP of at least this length in pages that were made writable; no other thread runs.
        unsafe { core::ptr::copy_nonoverlapping(code.to_le_bytes().as_ptr(), self.nop as *mut u8, JUMP) };
    }

    /// A further thread may come to it.
    fn look_again(&self) {
        let jump = self.jump.load(Relaxed);
        if jump != 0 && self.looks.swap(LOOKS, Relaxed) <= 0 {
            self.put_jump(jump);
        }
    }
}
