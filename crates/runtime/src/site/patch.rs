//! Switching sites and variants on, once per module, before another thread can run its code.
//!
//! A site is switched on by writing a jump to its stub over its NOP; a function by writing a jump to
//! its detecting body over the 5-byte NOP that its plain body starts with. Pages are writable only
//! while this runs. What cannot be decoded or reached is counted and reported, never guessed.

use super::decode::{self, MAX_LEN};
use super::near::{self, Pages};
use super::{Module, Site, handler, stub};
use crate::journal::{self, LARGEST};
use alloc::boxed::Box;
use alloc::vec::Vec;
use deadheat_model::SiteKind;
use deadheat_wire::object::{BACK_EDGE, FLAG_CSTRING, FLAG_DYNAMIC, PATCH_SIZE, VARIANT_SIZE};

/// What a function's plain body starts with.
const ENTRY_NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0, 0];

/// What patching did.
#[derive(Default)]
pub struct Outcome {
    /// Jumps written.
    pub patched: usize,
    /// Target sites that could not be patched.
    pub failed: Vec<Site>,
    /// Function entries or other sites that could not be patched.
    pub skipped: usize,
}

/// One jump to write.
pub struct Jump {
    /// Where.
    pub at: u64,
    /// The instruction, or those of a back edge.
    pub code: Vec<u8>,
}

/// Writes jumps to the detecting bodies of the module's functions; `wanted` is asked with the plain body's address.
pub fn variants(module: &Module, wanted: impl Fn(u64) -> bool) -> Outcome {
    let mut outcome = Outcome::default();
    let mut jumps = Vec::new();
    for row in module.variants.clone().step_by(VARIANT_SIZE) {
        let (plain, detecting) = (relative(row), relative(row + 4));
        if !wanted(plain) {
            continue;
        }
        match stub::jump(plain, detecting) {
            Some(code) if plain != detecting && bytes::<5>(plain) == ENTRY_NOP => jumps.push(Jump { at: plain, code }),
            _ => outcome.skipped += 1,
        }
    }
    write(&jumps, &mut outcome);
    outcome
}

/// Makes stubs and writes jumps to them for the sites of the module that `wanted` chooses
/// (`Some(true)`: a target).
pub fn sites(module: &Module, wanted: impl Fn(u32, SiteKind) -> Option<bool>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut chosen: Vec<&'static Site> = Vec::new();
    for row in module.sites.clone().step_by(PATCH_SIZE) {
        let Some(mut site) = module.site(relative(row + 4)) else {
            continue;
        };
        site.nop = relative(row);
        if let Some(target) = wanted(site.id.index, site.kind) {
            site.target = target;
            let fixed =
                (1..=LARGEST).contains(&u64::from(site.size)) && site.flags & (FLAG_CSTRING | FLAG_DYNAMIC) == 0;
            site.passes =
                target && fixed && matches!(site.kind, SiteKind::Read | SiteKind::Write | SiteKind::ReadWrite);
            chosen.push(Box::leak(Box::new(site)));
        }
    }
    let low = chosen.iter().map(|s| s.nop).min().unwrap_or(0);
    let high = chosen.iter().map(|s| s.nop).max().unwrap_or(0);
    let size = (chosen.len() * stub::MAX_SIZE + 16) as u64;
    let Some(mut pages) = (!chosen.is_empty()).then(|| Pages::reserve(low, high, size)).flatten() else {
        chosen.iter().for_each(|s| outcome.fail(s));
        return outcome;
    };
    let Some(entry) = pages.put(&handler::entry().to_le_bytes()) else {
        return outcome;
    };
    let mut jumps = Vec::new();
    for site in chosen {
        let jump = match site.kind {
            SiteKind::BackEdge => back_edge(module, site, entry, &mut pages),
            _ => code(site, entry, pages.next())
                .and_then(|bytes| pages.put(&bytes))
                .and_then(|at| stub::jump(site.nop, at)),
        };
        match jump {
            Some(code) => jumps.push(Jump { at: site.nop, code }),
            None => outcome.fail(site),
        }
    }
    if pages.seal() {
        write(&jumps, &mut outcome);
    } else {
        outcome.skipped += jumps.len();
    }
    outcome
}

fn call(site: &'static Site, entry: u64) -> stub::Call {
    stub::Call {
        handler: entry,
        row: site as *const Site as u64,
    }
}

/// Makes a back edge's stub, and what is to be written at the site.
fn back_edge(module: &Module, site: &'static Site, entry: u64, pages: &mut Pages) -> Option<Vec<u8>> {
    if bytes(site.nop) != BACK_EDGE {
        return None;
    }
    let stub = stub::bare(pages.next(), site.nop + BACK_EDGE.len() as u64, &call(site, entry))?;
    stub::back_edge(site.nop, pages.put(&stub)?, module.budget as u64)
}

/// The stub's bytes for a site with an operand, or a fence.
fn code(site: &'static Site, entry: u64, at: u64) -> Option<Vec<u8>> {
    let nop = decode::decode(&bytes::<MAX_LEN>(site.nop))?;
    let call = call(site, entry);
    let length = if site.flags & FLAG_DYNAMIC != 0 {
        Some(decode::decode(&bytes::<MAX_LEN>(site.nop + nop.len as u64))?)
    } else {
        None
    };
    let journal = site.passes.then(journal::words);
    // A journal out of reach (a library's code) is the handler's business.
    journal
        .and_then(|journal| stub::access(at, site.nop, &nop, length.as_ref(), &call, Some(&journal)))
        .or_else(|| stub::access(at, site.nop, &nop, length.as_ref(), &call, None))
}

/// Writes jumps, all within one module's text.
pub fn write(jumps: &[Jump], outcome: &mut Outcome) {
    let ends = jumps.iter().map(|jump| jump.at + jump.code.len() as u64);
    let (Some(low), Some(high)) = (jumps.iter().map(|jump| jump.at).min(), ends.max()) else {
        return;
    };
    let len = high - low;
    // The runtime itself may lie in these pages, so they stay executable while they are written.
    if !near::protect(low, len, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        outcome.skipped += jumps.len();
        return;
    }
    for jump in jumps {
        // SAFETY: `at` starts NOPs of at least this length in pages just made writable, and no other
        // thread runs program code.
        unsafe { core::ptr::copy_nonoverlapping(jump.code.as_ptr(), jump.at as *mut u8, jump.code.len()) };
    }
    near::protect(low, len, libc::PROT_READ | libc::PROT_EXEC);
    outcome.patched += jumps.len();
}

impl Outcome {
    fn fail(&mut self, site: &Site) {
        if site.target {
            self.failed.push(*site);
        } else {
            self.skipped += 1;
        }
    }
}

/// The address that the self-relative 32-bit word at `at` refers to.
pub fn relative(at: u64) -> u64 {
    // SAFETY: `at` lies in a table of a loaded module.
    at.wrapping_add_signed(i64::from(unsafe { (at as *const i32).read_unaligned() }))
}

/// `N` bytes of code at `at`.
pub fn bytes<const N: usize>(at: u64) -> [u8; N] {
    // SAFETY: text of a loaded module; the section is followed by more of the segment or its page's rest.
    unsafe { (at as *const [u8; N]).read_unaligned() }
}
