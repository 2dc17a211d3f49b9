//! The whole analysis of one program.

use crate::bottom_up::BottomUp;
use crate::execution::Summaries;
use crate::lock_order::{self, LeftLock, LockCycle};
use crate::memo::Memo;
use crate::models::Models;
use crate::parallelism::Parallelism;
use crate::start_only::StartOnly;
use crate::state::Threads;
use crate::subject::{Aliasing, Subject};
use crate::thread_root::{RootKey, Start};
use crate::top_down::{self, TopDown};
use crate::warning::{self, Warnings};
use deadheat_ir::{FunctionId, Module, SymbolKind};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Functions that any thread may call at any time; a name that ends in `*` stands for all that begin so.
    pub entries: Vec<String>,
    /// All threads run beside each other: creation, join and barriers are not looked at.
    pub always_parallel: bool,
    /// Drop what RELAY's filters drop.
    pub relay_filters: bool,
    /// Execute each function once and put what is seen in each context's terms, as in a large program.
    pub views: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// All that runs.
    pub found: TopDown,
    /// Races.
    pub warnings: Warnings,
    /// Lock orders.
    pub cycles: Vec<LockCycle>,
    /// Locks left behind.
    pub left: BTreeSet<LeftLock>,
    /// What it amounted to.
    pub figures: Figures,
}

/// What an analysis amounted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Functions with a body.
    pub functions: usize,
    /// Of these, executed from some root.
    pub reached: usize,
    /// Of these, with an effect on locks.
    pub lock: usize,
    /// Places, and changes of locks without a name, that callers are not told of, or callees.
    pub unsaid: usize,
    /// Blocks that were left before they came to rest.
    pub blocks: usize,
    /// Functions in which ways were joined early, since they take too long to go through.
    pub widened: usize,
    /// Functions in recursion that did not settle.
    pub unsettled: usize,
    /// Searches for lock cycles that were cut short.
    pub cycles_cut: usize,
}

/// Why a program cannot be analysed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// A name that is none.
    #[error("there is no function {0} with a body in what was read")]
    Entry(String),
    /// Nothing to start from.
    #[error("there is no main function in what was read; name the functions that threads may call: --entry FUNCTION")]
    NoStart,
}

/// Analyses a program.
pub fn scan(module: &Module, models: &Models, aliasing: &dyn Aliasing, options: &Options) -> Result<Scan, ScanError> {
    scan_again(module, models, aliasing, options, &mut Remembered::default())
}

/// What one analysis remembers for the next.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// What tells the tool and its models from others.
    pub tool: u128,
    /// What the last analysis remembered; afterwards, what this one does. None: nothing is to be remembered.
    pub kept: Option<Vec<u8>>,
    /// Executions whose results were remembered, and others.
    pub executions: [usize; 2],
}

/// Analyses a program; what an earlier analysis of much the same program gave is taken over where it is the same.
pub fn scan_again(
    module: &Module,
    models: &Models,
    aliasing: &dyn Aliasing,
    options: &Options,
    remembered: &mut Remembered,
) -> Result<Scan, ScanError> {
    let mut starts = Vec::new();
    let body = |name: &str| module.find(name).and_then(|symbol| module[symbol].body());
    for name in &options.entries {
        let named = match name.strip_suffix('*') {
            Some(beginning) => beginning_with(module, beginning),
            None => body(name).into_iter().collect(),
        };
        if named.is_empty() {
            return Err(ScanError::Entry(name.clone()));
        }
        let start = Start::AnyTime;
        starts.extend(named.into_iter().map(|function| RootKey { start, function }));
    }
    let main = body("main");
    if main.is_none() && starts.is_empty() {
        return Err(ScanError::NoStart);
    }
    let mut subject = Subject::new(module, models, aliasing);
    let entries: Vec<FunctionId> = starts.iter().map(|key| key.function).collect();
    subject.start_only = StartOnly::of(module, &entries);
    subject.is_large |= options.views;
    let kept = remembered.kept.take();
    let memo = kept
        .filter(|_| subject.is_large)
        .map(|kept| Memo::new(&subject, remembered.tool, Some(&kept)));
    let summaries = BottomUp::run_with(&subject, memo.as_ref());
    let start = Start::Program;
    let creates = |f: &FunctionId| summaries.summary(*f).is_some_and(|s| !s.creations.is_empty());
    let constructors = constructors(module).filter(creates);
    let program = main
        .into_iter()
        .chain(constructors)
        .map(|function| RootKey { start, function });
    starts.splice(0..0, program);
    // What runs before main has threads running when main begins.
    let mut running = Threads::default();
    for key in starts
        .iter()
        .filter(|k| k.start == Start::Program && Some(k.function) != main)
    {
        let cases = summaries.summary(key.function).map_or(&[][..], |s| &s.cases);
        Arc::make_mut(&mut running).extend(
            cases
                .iter()
                .flat_map(|c| c.threads.iter().map(|(site, status)| (*site, *status))),
        );
    }
    let mut found = top_down::run(&subject, &summaries, memo.as_ref(), &starts, &running);
    if let Some(memo) = memo {
        remembered.executions = [&memo.found, &memo.made].map(|n| n.load(Ordering::Relaxed));
        remembered.kept = memo.kept();
    }
    if options.always_parallel {
        found.roots.iter_mut().for_each(|root| root.lent.clear());
    }
    let parallelism = Parallelism::new(&found.roots, !options.always_parallel);
    let warnings = warning::warnings(&subject, &found, &parallelism, options.relay_filters);
    let (cycles, cycles_cut) = lock_order::cycles(&found, &parallelism);
    let reached: BTreeSet<FunctionId> = found.contexts.iter().map(|c| c.function).collect();
    let all = || module.functions().filter_map(|(f, _)| summaries.summary(f));
    let widened = |f: FunctionId| found.widened.contains(&f) || summaries.summary(f).is_some_and(|s| s.widened);
    let figures = Figures {
        functions: module.functions.len(),
        reached: reached.len(),
        lock: all().filter(|s| s.cases.iter().any(|c| !c.locks.is_empty())).count(),
        unsaid: found.cut.unsaid + all().map(|s| s.unsaid as usize).sum::<usize>(),
        blocks: found.cut.blocks + all().map(|s| s.unsettled as usize).sum::<usize>(),
        widened: module.functions().filter(|(f, _)| widened(*f)).count(),
        unsettled: summaries.unsettled,
        cycles_cut,
    };
    let left = lock_order::left(&found);
    Ok(Scan {
        warnings,
        cycles,
        left,
        figures,
        found,
    })
}

/// Functions with a body whose names begin so, by name.
fn beginning_with(module: &Module, beginning: &str) -> Vec<FunctionId> {
    let mut named: Vec<(&str, FunctionId)> = module
        .functions()
        .map(|(id, _)| (module.function_name(id), id))
        .filter(|(name, _)| name.starts_with(beginning))
        .collect();
    named.sort_unstable();
    named.into_iter().map(|(_, id)| id).collect()
}

/// Functions that run before `main`.
fn constructors(module: &Module) -> impl Iterator<Item = FunctionId> + '_ {
    module
        .functions()
        .filter(|(_, function)| {
            let kind = &module[function.symbol].kind;
            matches!(kind, SymbolKind::Function { attributes, .. } if attributes.constructor)
        })
        .map(|(id, _)| id)
}
