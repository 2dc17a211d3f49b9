//! What executions gave in an earlier run.
//!
//! An execution relative to its entry follows from the function's instructions, from what points-to says of its calls, and
//! from the summaries that it asks for. Its result is kept beside the digests of all three, and taken over where they are the
//! same: whoever would ask for other summaries had to meet another answer before. So a run with a memo is a run without
//! one, step by step, and what it finds is the same to the byte.
//!
//! Only for programs in which functions are executed relative to their entries alone, and not for functions that create threads.
//! What a run has not used is not kept on, so that the memo is as large as one program's results.

mod content;
pub(crate) mod identity;

use crate::entering::digest;
use crate::execution::{Entry, Execution, Summaries};
use crate::relative_view::RelativeView;
use crate::subject::Subject;
use crate::summary::Summary;
use deadheat_ir::{FunctionId, Operation};
use identity::Identities;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Raised whenever the same functions give something else.
const VERSION: u32 = 1;

/// What a result was made from beside its function, and the result.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Result {
    /// Names of functions that were asked for their summaries, and the digests of these.
    asked: Vec<(u64, u128)>,
    written: Arc<[u8]>,
}

/// Results by the digests of their functions; a function has several where recursion went round several times.
type Results = FxHashMap<u128, Vec<Result>>;

/// What is kept from one run to the next.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    base: u128,
    symbols: Vec<u64>,
    functions: Vec<u64>,
    results: Results,
}

/// Results of an earlier run, and those of this one.
#[derive(Debug)]
pub(crate) struct Memo {
    base: u128,
    identities: Arc<Identities>,
    /// The digest of each function and what points-to says of its calls.
    functions: Vec<u128>,
    before: Results,
    after: Mutex<Results>,
    /// Executions whose results were there.
    pub(crate) found: AtomicUsize,
    /// Others.
    pub(crate) made: AtomicUsize,
}

/// Notes who is asked for his summary.
struct Asked<'a> {
    summaries: &'a dyn Summaries,
    functions: RefCell<BTreeSet<FunctionId>>,
}

impl Summaries for Asked<'_> {
    fn summary(&self, function: FunctionId) -> Option<&Summary> {
        self.functions.borrow_mut().insert(function);
        self.summaries.summary(function)
    }

    fn any_of(&self, functions: &[FunctionId]) -> Arc<Summary> {
        self.functions.borrow_mut().extend(functions);
        self.summaries.any_of(functions)
    }

    fn digest(&self, function: FunctionId) -> u128 {
        self.summaries.digest(function)
    }
}

impl Memo {
    /// With what an earlier run kept, if that is of use. `tool`: what tells the analysis itself from others.
    pub(crate) fn new(subject: &Subject<'_>, tool: u128, kept: Option<&[u8]>) -> Memo {
        let identities = Identities::of(subject);
        let registered: Vec<u64> = subject
            .registered
            .iter()
            .map(|f| identities.function(f.number()))
            .collect();
        let base = digest(&(VERSION, tool, Execution::bounds(subject), registered));
        let places = places(subject, &identities);
        let numbers: Vec<u32> = (0..subject.module.functions.len() as u32).collect();
        let function = |n: &u32| function(subject, &identities, &places, FunctionId::new(*n));
        let functions = numbers.par_iter().map(function).collect();
        let kept = kept.and_then(|bytes| postcard::from_bytes::<Kept>(bytes).ok());
        let kept = kept.filter(|k| k.base == base && identities.agree(&k.symbols, &k.functions));
        Memo {
            base,
            identities: Arc::new(identities),
            functions,
            before: kept.map(|k| k.results).unwrap_or_default(),
            after: Mutex::default(),
            found: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
        }
    }

    /// What the next run should be given.
    pub(crate) fn kept(self) -> Option<Vec<u8>> {
        let kept = Kept {
            base: self.base,
            symbols: self.identities.symbols.clone(),
            functions: self.identities.functions.clone(),
            results: self.after.into_inner().unwrap_or_else(PoisonError::into_inner),
        };
        postcard::to_stdvec(&kept).ok()
    }

    /// A function's summary, and its digest.
    pub(crate) fn summary(
        &self,
        subject: &Subject<'_>,
        summaries: &dyn Summaries,
        function: FunctionId,
    ) -> (Summary, u128) {
        let entry = Entry::relative();
        let execute = |summaries: &dyn Summaries| Summary::of(Execution::run(subject, summaries, function, &entry));
        self.result(function, summaries, 0, &execute, Summary::is_portable)
    }

    /// What a function shows.
    pub(crate) fn view(&self, subject: &Subject<'_>, summaries: &dyn Summaries, function: FunctionId) -> RelativeView {
        let execute = |summaries: &dyn Summaries| RelativeView::of(subject, summaries, function);
        let (mut view, _) = self.result(function, summaries, 1, &execute, RelativeView::is_portable);
        view.share();
        view
    }

    fn result<T: Serialize + DeserializeOwned>(
        &self,
        function: FunctionId,
        summaries: &dyn Summaries,
        kind: u8,
        execute: &dyn Fn(&dyn Summaries) -> T,
        is_portable: impl Fn(&T) -> bool,
    ) -> (T, u128) {
        let key = digest(&(self.functions[function.index()], kind));
        let same = |(name, then): &(u64, u128)| self.digest(summaries, *name) == Some(*then);
        let known = self.before.get(&key).into_iter().flatten();
        let known = known.into_iter().find(|result| result.asked.iter().all(same));
        if let Some(known) = known
            && let Some(result) = self.identities.read(&known.written)
        {
            self.found.fetch_add(1, Ordering::Relaxed);
            self.keep(key, known.clone());
            return (result, digest(&known.written));
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let asked = Asked {
            summaries,
            functions: RefCell::default(),
        };
        let result = execute(&asked);
        let Some(written) = self.identities.write(&result) else {
            return (result, 0);
        };
        let written: Arc<[u8]> = written.into();
        let whole = digest(&written);
        if is_portable(&result) {
            let functions = asked.functions.into_inner().into_iter();
            let asked = functions.map(|f| (self.identities.function(f.number()), summaries.digest(f)));
            let asked = asked.collect();
            self.keep(key, Result { asked, written });
        }
        (result, whole)
    }

    /// The digest of the summary of a function by name; none if there is no such function.
    fn digest(&self, summaries: &dyn Summaries, name: u64) -> Option<u128> {
        let number = self.identities.function_of(name)?;
        Some(summaries.digest(FunctionId::new(number)))
    }

    fn keep(&self, key: u128, result: Result) {
        let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        let known = after.entry(key).or_default();
        if known.iter().all(|k| k.asked != result.asked) {
            known.push(result);
        }
    }
}

/// Variables in each class of points-to, by name.
fn places(subject: &Subject<'_>, identities: &Identities) -> FxHashMap<u32, u64> {
    let mut places: FxHashMap<u32, u64> = FxHashMap::default();
    for (id, _) in subject.module.symbols() {
        if let Some(cell) = subject.aliasing.object(id) {
            let all = places.entry(cell.class).or_default();
            *all = all.wrapping_add(identities.symbol(id.number()));
        }
    }
    places
}

/// The digest of a function and of what points-to says of its calls.
fn function(
    subject: &Subject<'_>,
    identities: &Identities,
    places: &FxHashMap<u32, u64>,
    function: FunctionId,
) -> u128 {
    let body = &subject.module[function];
    let mut calls: Vec<u64> = Vec::new();
    for (at, instruction) in body.instructions.iter().enumerate() {
        let Operation::Call { arguments, .. } = &instruction.operation else {
            continue;
        };
        let targets = subject.aliasing.targets(function, at);
        calls.extend(targets.iter().map(|f| identities.function(f.number())));
        for argument in arguments {
            let class = subject.aliasing.pointee(function, *argument).map(|cell| cell.class);
            let place = |class: u32| (subject.accessed.contains(&class), places.get(&class));
            calls.push(digest(&class.map(place)) as u64);
        }
        calls.push(at as u64);
    }
    let content: Vec<u128> = body.instructions.iter().map(|i| identities.content(i)).collect();
    let blocks: Vec<_> = body
        .blocks
        .iter()
        .map(|b| (b.start, b.end, identities.content(&b.terminator)))
        .collect();
    let name = identities.function(function.number());
    let own = subject.start_only.executes(function);
    digest(&(name, own, body.parameters, content, blocks, calls))
}
