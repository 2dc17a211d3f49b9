//! Entry and exit sites: switched on for all functions when function pairs are measured, and used as names of the
//! functions that phase 1 looks into.
//!
//! A function's descriptors follow that of its entry, so the function of an exit is the last entry before it.

use super::decode::{self, MAX_LEN};
use super::near::Pages;
use super::patch::{self, Jump, Outcome};
use super::{Module, Site, stub, synchronises};
use crate::functions;
use alloc::boxed::Box;
use alloc::vec::Vec;
use deadheat_model::{SiteId, SiteKind};
use deadheat_wire::object::{PATCH_SIZE, SITE_SIZE};

/// A site at which a function begins or ends.
#[repr(C)]
pub struct FunctionSite {
    /// The site; first, since stubs hand over its address.
    pub site: Site,
    /// The function's number in the run.
    pub function: u32,
    /// The state in which an instance ended here last, of those that nothing happened in.
    pub seen: u32,
}

/// Switches on the entries and exits of all functions whose entry has a site, but those that the plan leaves out, and what
/// synchronises.
pub fn all(module: &Module) -> Outcome {
    let mut outcome = patch::sites(module, |_, kind| synchronises(kind).then_some(false));
    let mut sites: Vec<Site> = module
        .sites
        .clone()
        .step_by(PATCH_SIZE)
        .filter_map(|row| {
            let site = module.site(patch::relative(row + 4))?;
            let nop = patch::relative(row);
            matches!(site.kind, SiteKind::Entry | SiteKind::Exit).then_some(Site { nop, ..site })
        })
        .collect();
    // An entry comes before its function's exits, whatever copies of them there are.
    sites.sort_unstable_by_key(|s| (s.id.index, s.nop));
    sites.dedup_by_key(|s| s.nop);
    let entries = entries(module);
    let entry_of = |index: u32| entries[..entries.partition_point(|e| *e <= index)].last().copied();
    let plan = crate::start::plan();
    let left_out = plan.and_then(|p| p.functions.as_deref()).unwrap_or_default();
    let mut entry: Option<(SiteId, u32)> = None;
    let mut chosen: Vec<&'static mut FunctionSite> = Vec::new();
    for site in sites {
        if site.kind == SiteKind::Entry {
            let measured = left_out.binary_search(&site.id).is_err();
            entry = measured.then(|| (site.id, functions::number(site.id)));
        }
        // An exit of a function whose entry has no site, or is left out, belongs to no instance.
        let Some((_, function)) = entry.filter(|(id, _)| entry_of(site.id.index) == Some(id.index)) else {
            continue;
        };
        chosen.push(Box::leak(Box::new(FunctionSite {
            site,
            function,
            seen: 0,
        })));
    }
    let low = chosen.iter().map(|s| s.site.nop).min().unwrap_or(0);
    let high = chosen.iter().map(|s| s.site.nop).max().unwrap_or(0);
    let size = (chosen.len() * stub::MAX_SIZE + 32) as u64;
    let Some(mut pages) = (!chosen.is_empty()).then(|| Pages::reserve(low, high, size)).flatten() else {
        outcome.skipped += chosen.len();
        return outcome;
    };
    let [enters, exits] = functions::handlers();
    let (Some(enters), Some(exits)) = (pages.put(&enters.to_le_bytes()), pages.put(&exits.to_le_bytes())) else {
        outcome.skipped += chosen.len();
        return outcome;
    };
    let mut jumps = Vec::new();
    for site in chosen {
        let nop = site.site.nop;
        let call = stub::Call {
            handler: if site.site.kind == SiteKind::Entry {
                enters
            } else {
                exits
            },
            row: &raw const *site as u64,
        };
        let code = decode::decode(&patch::bytes::<MAX_LEN>(nop))
            .and_then(|decoded| stub::bare(pages.next(), nop + decoded.len as u64, &call))
            .and_then(|bytes| pages.put(&bytes))
            .and_then(|at| stub::jump(nop, at));
        match code {
            Some(code) => jumps.push(Jump { at: nop, code }),
            None => outcome.skipped += 1,
        }
    }
    if pages.seal() {
        patch::write(&jumps, &mut outcome);
    } else {
        outcome.skipped += jumps.len();
    }
    outcome
}

/// Indexes of all entries among the module's descriptors, ascending.
pub fn entries(module: &Module) -> Vec<u32> {
    let rows = (0u32..).zip(module.descs.clone().step_by(SITE_SIZE));
    rows.filter(|(_, desc)| module.site(*desc).is_some_and(|s| s.kind == SiteKind::Entry))
        .map(|(index, _)| index)
        .collect()
}

/// Switches on the detecting bodies of these functions (entry sites, ascending), and elsewhere what synchronises.
pub fn only(module: &Module, chosen: &[SiteId]) -> Outcome {
    let mut starts: Vec<u64> = Vec::new();
    for row in module.sites.clone().step_by(PATCH_SIZE) {
        let site = module
            .site(patch::relative(row + 4))
            .filter(|s| s.kind == SiteKind::Entry);
        if site.is_some_and(|s| chosen.binary_search(&s.id).is_ok()) {
            starts.push(patch::relative(row));
        }
    }
    starts.sort_unstable();
    let mut outcome = patch::sites(module, |_, kind| synchronises(kind).then_some(false));
    let variants = patch::variants(module, |plain| starts.binary_search(&plain).is_ok());
    outcome.patched += variants.patched;
    outcome.skipped += variants.skipped;
    outcome.failed.extend(variants.failed);
    outcome
}
