//! Sites: the modules that have them, and switching them on.
//!
//! Each linked module (the executable, each shared library built with deadheat) announces its tables
//! from its earliest constructor. A site's name in a run is (number of the module, row of its
//! descriptor). The executable registers first. A module loaded later is switched on when it registers,
//! before any of its code but that constructor ran.

mod decode;
mod functions;
mod group;
mod handler;
mod layout_version;
mod near;
mod patch;
pub mod reached;
pub mod stub;

pub use functions::FunctionSite;
pub use group::parts as group;

use crate::held::Held;
use alloc::string::String;
use alloc::vec::Vec;
use core::arch::{asm, global_asm};
use core::ops::Range;
use deadheat_model::{Access, ByteRange, MemoryOrder, SiteId, SiteKind, ThreadId};
use deadheat_wire::channel::module_key;
use deadheat_wire::object::{PATCH_SIZE, SITE_SIZE, SiteDesc, UNIT_OPAQUE_ASSEMBLY, UNIT_SIZE};
use deadheat_wire::plan::{Mode, Targets};
use deadheat_wire::record::{self, Notice, Record};

/// What a module hands over (`dh_register_module`), laid out as in its module object.
#[repr(C)]
pub struct ModuleTables {
    version: u32,
    pad: u32,
    descs: [u64; 2],
    sites: [u64; 2],
    variants: [u64; 2],
    units: [u64; 2],
    context: *mut u32,
    budget: *mut i64,
    own: u64,
}

/// A site that is switched on, or about to be.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Its name.
    pub id: SiteId,
    /// Address of its NOP.
    pub nop: u64,
    /// What the statement does.
    pub kind: SiteKind,
    /// `FLAG_*` of the object format.
    pub flags: u8,
    /// Memory order, for atomics.
    pub order: MemoryOrder,
    /// Order of a compare-exchange that fails.
    pub failure_order: MemoryOrder,
    /// Bytes touched, 0 when dynamic.
    pub size: u32,
    /// Whether the plan names it.
    pub target: bool,
    /// Whether it is a target that a thread may pass without a decision: a plain access of fixed size.
    pub passes: bool,
}

impl Site {
    /// A thread's access of `len` bytes here.
    #[inline(always)]
    pub fn access(&self, thread: ThreadId, address: u64, len: u64) -> Access {
        Access {
            thread,
            site: self.id,
            kind: self.kind,
            bytes: ByteRange { start: address, len },
        }
    }
}

/// A registered module.
pub struct Module {
    /// As all processes of the run have it.
    number: u16,
    /// Path of its file, and where that was put.
    path: String,
    bias: u64,
    descs: Range<u64>,
    sites: Range<u64>,
    variants: Range<u64>,
    context: *mut u32,
    budget: *mut i64,
    /// Back edges that it was given last.
    given: i64,
    own: u64,
    attached: bool,
    /// Patch rows as (descriptor's index, NOP), ascending; made when first asked for.
    nops: Vec<(u32, u64)>,
    /// Whether its sites are calls ([`crate::call_sites`]).
    calls: bool,
}

struct Registry {
    modules: Vec<Module>,
    /// Program's back edges so far, as far as the budgets were read.
    back_edges: u64,
    budget: i64,
}

static REGISTRY: Held<Registry> = Held::new(Registry {
    modules: Vec::new(),
    back_edges: 0,
    budget: i64::MAX,
});

/// Announces a module's tables.
///
/// # Safety
/// `tables` describes sections of a loaded module that stays loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dh_register_module(tables: *const ModuleTables) {
    // A plain run is decided upon before any constructor runs, so it needs no modules.
    if crate::start::mode().is_some() {
        // SAFETY: as the caller promises.
        register(unsafe { &*tables });
        attach_all();
    }
}

global_asm!(
    ".pushsection .data.rel.ro.dh_executable,\"aw\",@progbits",
    ".balign 8",
    ".weak __start_dh_descs, __stop_dh_descs, __start_dh_sites, __stop_dh_sites",
    ".weak __start_dh_variants, __stop_dh_variants, __start_dh_units, __stop_dh_units",
    ".weak dh_ctx, dh_budget, __ehdr_start",
    ".hidden __start_dh_descs, __stop_dh_descs, __start_dh_sites, __stop_dh_sites",
    ".hidden __start_dh_variants, __stop_dh_variants, __start_dh_units, __stop_dh_units",
    ".hidden dh_ctx, dh_budget, __ehdr_start",
    "dh_executable:",
    ".long {version}, 0",
    ".quad __start_dh_descs, __stop_dh_descs, __start_dh_sites, __stop_dh_sites",
    ".quad __start_dh_variants, __stop_dh_variants, __start_dh_units, __stop_dh_units",
    ".quad dh_ctx, dh_budget, __ehdr_start",
    ".popsection",
    version = const deadheat_wire::object::VERSION,
);

/// Registers the executable, ahead of the libraries, whose constructors run before its own.
pub fn register_executable() {
    let tables: *const ModuleTables;
    // SAFETY: the address of the table above, which lies in the executable as the runtime does.
    unsafe {
        asm!("lea {}, [rip + dh_executable]", out(reg) tables, options(nomem, nostack, preserves_flags));
        register(&*tables);
    }
}

fn register(tables: &ModuleTables) {
    if let Some(objection) = layout_version::objection(tables) {
        return layout_version::object_to(tables as *const ModuleTables as u64, &objection);
    }
    let range = |r: [u64; 2]| if r[0] == 0 { 0..0 } else { r[0]..r[1].max(r[0]) };
    let registry = REGISTRY.get();
    if registry.modules.iter().any(|m| m.own == tables.own && !m.calls) {
        return;
    }
    if opaque(range(tables.units)) {
        crate::switching::stop();
    }
    if let Some(module) = Module::named(tables.own, false) {
        registry.modules.push(Module {
            descs: range(tables.descs),
            sites: range(tables.sites),
            variants: range(tables.variants),
            context: tables.context,
            budget: tables.budget,
            ..module
        });
    }
}

/// Whether one of these units has assembly that nobody looked into.
fn opaque(units: Range<u64>) -> bool {
    if units.is_empty() {
        return false;
    }
    // SAFETY: rows of the module's table.
    let rows = unsafe { core::slice::from_raw_parts(units.start as *const u8, (units.end - units.start) as usize) };
    let flags = |row: &[u8]| row.last_chunk().map_or(0, |flags| u32::from_le_bytes(*flags));
    rows.chunks_exact(UNIT_SIZE)
        .any(|row| flags(row) & UNIT_OPAQUE_ASSEMBLY != 0)
}

/// Registers the file that holds the address `own` as a module whose sites are calls; its number. `budget` is the word
/// that all such calls count down.
pub fn register_calls(own: u64, budget: *mut i64) -> Option<u16> {
    let module = Module::named(own, true)?;
    let number = module.number;
    REGISTRY.get().modules.push(Module { budget, ..module });
    attach_all();
    Some(number)
}

/// Whether the plan switches the site on that a call is, and whether as a target.
pub fn switched_on(id: SiteId, kind: SiteKind) -> Option<bool> {
    match crate::start::mode()? {
        Mode::Confirm(targets) => wanted(targets, id, kind),
        Mode::Schedule | Mode::Functions => synchronises(kind).then_some(false),
        Mode::Granules { .. } | Mode::Statements { .. } => None,
    }
}

/// Switches on what the plan wants in every module that is not yet; called by start-up once the plan
/// is read, and for modules that come later.
pub fn attach_all() {
    let Some(mode) = crate::start::mode() else { return };
    let registry = REGISTRY.get();
    for module in &mut registry.modules {
        if !module.attached {
            module.attached = true;
            attach(module, mode);
        }
    }
}

/// Forgets the modules that lie in one of these ranges, which were unloaded. If one is loaded again it has its number again.
pub fn detach(gone: &[Range<u64>]) {
    REGISTRY.get().modules.retain(|module| {
        let stays = !gone.iter().any(|range| range.contains(&module.own));
        if !stays {
            crate::check::module_gone(module.context);
        }
        stays
    });
    crate::call_sites::forget(gone);
}

fn attach(module: &mut Module, mode: &Mode) {
    crate::report::write(&Record::Module(module.number, module.record()));
    let outcome = match mode {
        Mode::Granules { .. } | Mode::Statements { .. } => {
            match crate::start::plan().and_then(|p| p.functions.as_ref()) {
                None => patch::variants(module, |_| true),
                Some(chosen) => functions::only(module, chosen),
            }
        }
        Mode::Functions => {
            let outcome = functions::all(module);
            reached::attached(module);
            outcome
        }
        Mode::Confirm(targets) => {
            let number = module.number;
            patch::sites(module, |index, kind| {
                wanted(targets, SiteId { module: number, index }, kind)
            })
        }
        Mode::Schedule => patch::sites(module, |_, kind| synchronises(kind).then_some(false)),
    };
    for site in &outcome.failed {
        crate::report::write(&Record::Notice(Notice::NotPatched { site: site.id }));
    }
    if outcome.skipped > 0 {
        crate::report::write(&Record::Notice(Notice::Cut {
            what: "sites or functions that could not be switched on".into(),
            count: outcome.skipped as u64,
        }));
    }
    module.refill(REGISTRY.get().budget);
    crate::check::module_added(module.context);
}

/// Whether a site is switched on under these targets, and whether as a target.
fn wanted(targets: &Targets, id: SiteId, kind: SiteKind) -> Option<bool> {
    if targets.first.contains(&id) || targets.second.contains(&id) {
        return Some(true);
    }
    (targets.atomics && synchronises(kind)).then_some(false)
}

/// Kinds that happens-before or the scheduler's liveness needs.
fn synchronises(kind: SiteKind) -> bool {
    kind.is_atomic()
        || matches!(
            kind,
            SiteKind::Fence | SiteKind::BackEdge | SiteKind::CompareExchangeResult
        )
}

impl Module {
    /// The module of the file that holds an address, still without tables.
    fn named(own: u64, calls: bool) -> Option<Module> {
        let (path, bias) = crate::memory::module_of(own);
        let Some(number) = crate::report::module_number(module_key(&path, calls)) else {
            crate::report::write(&Record::Notice(Notice::Cut {
                what: "files with sites, beyond the most that a run may have, not watched".into(),
                count: 1,
            }));
            return None;
        };
        Some(Module {
            number,
            path,
            bias,
            descs: 0..0,
            sites: 0..0,
            variants: 0..0,
            context: core::ptr::null_mut(),
            budget: core::ptr::null_mut(),
            given: 0,
            own,
            attached: false,
            nops: Vec::new(),
            calls,
        })
    }

    /// The site of the descriptor at this address, its NOP unknown.
    fn site(&self, desc: u64) -> Option<Site> {
        if !self.descs.contains(&desc) {
            return None;
        }
        // SAFETY: a whole row of the module's table.
        let row = unsafe { core::slice::from_raw_parts(desc as *const u8, SITE_SIZE) };
        let d = SiteDesc::decode(row)?;
        let index = ((desc - self.descs.start) / SITE_SIZE as u64) as u32;
        Some(Site {
            id: SiteId {
                module: self.number,
                index,
            },
            nop: 0,
            kind: d.kind,
            flags: d.flags,
            order: d.order,
            failure_order: d.failure_order,
            size: d.size,
            target: false,
            passes: false,
        })
    }

    /// Gives the module this many back edges; tells how many of the last it used.
    #[inline(always)]
    fn refill(&mut self, budget: i64) -> u64 {
        if self.budget.is_null() {
            return 0;
        }
        let each = if self.calls {
            crate::call_sites::PER_BACK_EDGE
        } else {
            1
        };
        let budget = budget.saturating_mul(each);
        // SAFETY: the module's own word; only the holder of the turn counts it down.
        let left = unsafe { self.budget.replace(budget) };
        let used = core::mem::replace(&mut self.given, budget).saturating_sub(left).max(0);
        (used / each) as u64
    }

    fn record(&self) -> record::Module {
        record::Module {
            path: self.path.clone(),
            bias: self.bias,
            sites: ((self.descs.end - self.descs.start) / SITE_SIZE as u64) as u32,
            calls: self.calls,
        }
    }
}

/// The site of a descriptor row in any module.
pub fn of_desc(desc: u64) -> Option<Site> {
    match REGISTRY.get().modules.iter().find(|m| m.descs.contains(&desc)) {
        Some(module) => module.site(desc),
        None => crate::call_sites::known(desc),
    }
}

/// Address of a NOP of this site in the plain body, 0 if it has none.
pub fn nop_of(id: SiteId) -> u64 {
    let mut modules = REGISTRY.get().modules.iter_mut();
    let Some(module) = modules.find(|m| m.number == id.module) else {
        return 0;
    };
    if module.calls {
        return module.bias + u64::from(id.index);
    }
    if module.nops.is_empty() {
        for row in module.sites.clone().step_by(PATCH_SIZE) {
            let (nop, desc) = (patch::relative(row), patch::relative(row + 4));
            module
                .nops
                .push((((desc - module.descs.start) / SITE_SIZE as u64) as u32, nop));
        }
        module.nops.sort_unstable();
    }
    let at = module.nops.partition_point(|&(i, _)| i < id.index);
    module.nops.get(at).filter(|n| n.0 == id.index).map_or(0, |n| n.1)
}

/// Gives every module this many back edges until the next call into the runtime. Returns how many of the last were used.
#[inline]
pub fn set_budget(budget: i64) -> u64 {
    let registry = REGISTRY.get();
    registry.budget = budget;
    let mut used = 0;
    for module in &mut registry.modules {
        used += module.refill(budget);
    }
    registry.back_edges += used;
    used
}

/// Back edges counted up to the last [`set_budget`].
pub fn back_edges() -> u64 {
    REGISTRY.get().back_edges
}
