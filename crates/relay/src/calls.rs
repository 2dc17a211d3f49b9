//! Calls: a callee's summary in the caller's terms (RELAY, figures 4 and 5: `rebind`, `lockUpdate`).
//!
//! A path of the callee is followed step by step through the caller's memory at the call, so that `this->mutex` of a
//! guard on the caller's stack comes out as the mutex that its constructor was given.

use crate::access_path::{Path, Root, Site};
use crate::evaluation::{follow, known};
use crate::execution::{CallEvent, Execution, Observer, PLACES};
use crate::fact::Fact;
use crate::models::Creation;
use crate::state::{Disjunct, State, Status};
use crate::summary::{Case, Summary};
use crate::symbolic_value::SymbolicValue::{self, Named, Top};
use deadheat_ir::{Callee, Constant, FunctionId, Operation, SymbolKind, Value};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Functions that an indirect call is taken to call at most.
pub const TARGETS: usize = 64;

/// Functions that one call may call from which on their effects are not told apart.
const APART: usize = 4;

/// The same of functions whose threads their callers decide on, or that join threads that they are given.
const MANY: usize = 16;

/// Ways that are kept for each call and case, with what it made of them.
const KEPT: usize = 8;

/// What a case made of a way.
pub(crate) struct Applied {
    before: Disjunct,
    actuals: Vec<SymbolicValue>,
    effect: Option<Effect>,
}

/// What entries of a summary's memory are on one way, by the entry and by what is given back.
type Rebound = RefCell<FxHashMap<(usize, Option<Root>), Rc<(SymbolicValue, SymbolicValue)>>>;

/// The way after a call, up to the value that is given back.
#[derive(Clone)]
struct Effect {
    way: Disjunct,
    result: SymbolicValue,
    /// A lock that has no name here was given back.
    lost: bool,
    /// Handles that are joined, and whether in a loop.
    joined: Vec<(SymbolicValue, bool)>,
}

/// A call, for rebinding.
struct Frame<'a> {
    actuals: &'a [SymbolicValue],
    call: Site,
    /// The object or value that the callee gives back gets the call's name.
    given_back: Option<Root>,
    summary: &'a Summary,
}

impl Frame<'_> {
    /// What stands for a root of the callee.
    fn root(&self, root: Root) -> SymbolicValue {
        if Some(root) == self.given_back {
            return SymbolicValue::of(match root {
                Root::Fresh(_) => Root::Fresh(self.call),
                _ => Root::Opaque(self.call),
            });
        }
        match root {
            Root::Formal(n) => self.actuals.get(usize::from(n)).cloned().unwrap_or(Top),
            Root::Local(_) => Top,
            Root::Thread(site) => SymbolicValue::of(Root::Thread(self.creation(site))),
            root => SymbolicValue::of(root),
        }
    }

    /// The name of a creation: the call's, if the caller decides what is started.
    fn creation(&self, site: Site) -> Site {
        if self.summary.is_named_by_caller(&site) {
            self.call
        } else {
            site
        }
    }
}

impl Execution<'_> {
    /// A call instruction.
    pub(crate) fn call(
        &mut self,
        at: usize,
        callee: Callee,
        arguments: &[Value],
        mut ways: Vec<Disjunct>,
        observer: &mut dyn Observer,
    ) -> State {
        let actuals: Vec<SymbolicValue> = arguments.iter().map(|a| self.value(*a)).collect();
        let symbol = match callee {
            Callee::Direct(symbol) => Some(symbol),
            Callee::Indirect(value) => self.value(value).name().and_then(|p| self.subject.function_symbol(p)),
        };
        if let Some(model) = symbol.and_then(|s| self.subject.model(s)) {
            return self.library_call(at, model, arguments, &actuals, ways, observer);
        }
        let targets = match (symbol, callee) {
            (Some(symbol), _) => self.subject.module[symbol].body().into_iter().collect(),
            (None, Callee::Indirect(value)) => self.targets(at, value),
            (None, Callee::Direct(_)) => Vec::new(),
        };
        if targets.is_empty() {
            self.unknown_call(at, symbol, &actuals, &mut ways, observer);
            return crate::transfer::together(ways);
        }
        let certain = targets.len() == 1;
        if self.is_long() {
            ways = joined(ways);
        }
        let through = match callee {
            Callee::Indirect(value) => Some(self.value(value)),
            Callee::Direct(_) => None,
        };
        let mut state = State::default();
        let (alike, others) = self.mergeable(targets);
        for target in others {
            self.tell_call(at, target, through.as_ref(), &actuals, None, certain, &ways, observer);
            self.apply_function(at, target, &actuals, &ways, &mut state);
        }
        if !alike.is_empty() {
            for target in &alike {
                self.tell_call(at, *target, through.as_ref(), &actuals, None, false, &ways, observer);
            }
            self.apply_any(at, &alike, &actuals, &ways, &mut state);
        }
        state
    }

    /// Of many functions that one call may call, those whose effects are worked out together, and the others.
    fn mergeable(&self, targets: Vec<FunctionId>) -> (Vec<FunctionId>, Vec<FunctionId>) {
        if targets.len() <= APART {
            return (Vec::new(), targets);
        }
        let summary = |f: &FunctionId| self.summaries.summary(*f);
        let is_plain =
            |f: &FunctionId| summary(f).is_some_and(|s| s.decided_by_caller.is_empty() && s.joined.is_empty());
        let (plain, others): (Vec<_>, Vec<_>) = targets.iter().partition(|f| is_plain(f));
        match others.len() {
            0..=MANY => (plain, others),
            _ => targets.into_iter().partition(|f| summary(f).is_some()),
        }
    }

    /// Applies what any of several callees may do, once for all of them.
    fn apply_any(
        &mut self,
        at: usize,
        callees: &[FunctionId],
        actuals: &[SymbolicValue],
        ways: &[Disjunct],
        state: &mut State,
    ) {
        let known = self.any_of.get(&at).filter(|(of, _)| of == callees);
        let summary = match known {
            Some((_, summary)) => Arc::clone(summary),
            None => {
                let summary = self.summaries.any_of(callees);
                self.any_of.insert(at, (callees.to_vec(), Arc::clone(&summary)));
                self.applied.retain(|(place, ..), _| *place != at);
                self.adopted.retain(|(place, _)| *place != at);
                summary
            }
        };
        self.apply_cases(at, callees[0], &summary, actuals, ways, state);
    }

    /// What an indirect call may call: the functions that its value may be, else what points-to says.
    fn targets(&self, at: usize, value: Value) -> Vec<FunctionId> {
        let value = self.value(value);
        let named: Vec<FunctionId> = value.paths().iter().filter_map(|p| self.subject.function(p)).collect();
        if !named.is_empty() && named.len() == value.paths().len() {
            return named;
        }
        let targets = self.subject.aliasing.targets(self.function, at);
        targets.iter().copied().take(TARGETS).collect()
    }

    /// A function that cannot be looked into: what it is given may become known to others, and functions among that
    /// may be called from now on.
    fn unknown_call(
        &mut self,
        at: usize,
        symbol: Option<deadheat_ir::SymbolId>,
        actuals: &[SymbolicValue],
        ways: &mut [Disjunct],
        observer: &mut dyn Observer,
    ) {
        use deadheat_ir::SymbolKind::Function;
        let attributes = symbol.and_then(|s| match self.subject.module[s].kind {
            Function { attributes, .. } => Some(attributes),
            _ => None,
        });
        let harmless = attributes.is_some_and(|a| a.no_memory || a.read_only);
        if !harmless {
            for way in ways.iter_mut() {
                actuals.iter().for_each(|value| way.publish(value));
                let own = |path: &Path| self.subject.start_only.writes(self.function, path.root) && !path.loads();
                let Disjunct { memory, published, .. } = way;
                memory.replace(|path, value| {
                    let private = path.root.is_made() && !published.contains(&Path::of(path.root));
                    let handle = matches!(value, Named(p) if matches!(p.root, Root::Thread(_)));
                    (!private && !handle && !own(path)).then_some(Top)
                });
            }
        }
        let mut handed = self.handed(actuals);
        if handed.len() > TARGETS {
            self.left_out.insert(at, handed.len() - TARGETS);
            handed.truncate(TARGETS);
        }
        if !handed.is_empty() {
            let creation = Creation::handed();
            for way in ways.iter_mut() {
                for function in &handed {
                    self.begin(at, &creation, &[*function], &Top, &Top, false, way, observer);
                }
            }
        }
        self.define_all(at, &Top, ways);
    }

    /// Functions among actuals, and those that stand in variables whose address is among them.
    fn handed(&self, actuals: &[SymbolicValue]) -> Vec<FunctionId> {
        let module = self.subject.module;
        let mut handed = Vec::new();
        for path in actuals.iter().flat_map(SymbolicValue::paths).filter(|p| !p.loads()) {
            handed.extend(self.subject.function(path));
            let Root::Global(number) = path.root else { continue };
            if let Some(symbol) = self.subject.symbol(number)
                && let SymbolKind::Variable { initialisers, .. } = &module[symbol].kind
            {
                let address = |i: &deadheat_ir::Initialiser| match module[i.value] {
                    Constant::Address { symbol, offset: 0, .. } => module[symbol].body(),
                    _ => None,
                };
                handed.extend(initialisers.iter().filter_map(address));
            }
        }
        handed.sort_unstable();
        handed.dedup();
        handed
    }

    /// Applies one callee to all ways, and adds what comes out to `state`.
    #[expect(clippy::too_many_arguments, reason = "one call, seen from all sides")]
    pub(crate) fn call_function(
        &mut self,
        at: usize,
        callee: FunctionId,
        actuals: &[SymbolicValue],
        once: Option<&Path>,
        certain: bool,
        ways: &[Disjunct],
        observer: &mut dyn Observer,
        state: &mut State,
    ) {
        self.tell_call(at, callee, None, actuals, once, certain, ways, observer);
        self.apply_function(at, callee, actuals, ways, state);
    }

    fn apply_function(
        &mut self,
        at: usize,
        callee: FunctionId,
        actuals: &[SymbolicValue],
        ways: &[Disjunct],
        state: &mut State,
    ) {
        let summaries = self.summaries;
        if let Some(summary) = summaries.summary(callee) {
            self.apply_cases(at, callee, summary, actuals, ways, state);
            return;
        }
        // Of a function that calls itself nothing is known in the first round.
        let mut after = ways.to_vec();
        let results = vec![(Top, Fact::ANY); after.len()];
        self.define_each(at, results, &mut after);
        after.into_iter().for_each(|way| state.add(way));
    }

    #[expect(clippy::too_many_arguments, reason = "one call, seen from all sides")]
    fn tell_call(
        &self,
        at: usize,
        callee: FunctionId,
        through: Option<&SymbolicValue>,
        actuals: &[SymbolicValue],
        once: Option<&Path>,
        certain: bool,
        ways: &[Disjunct],
        observer: &mut dyn Observer,
    ) {
        for way in ways {
            observer.call(CallEvent {
                site: self.site(at),
                location: self.body.instructions[at].location,
                callee,
                through,
                actuals,
                once,
                certain,
                way,
            });
        }
    }

    /// Applies the cases of a summary, which goes by the name of a callee, to all ways.
    fn apply_cases(
        &mut self,
        at: usize,
        callee: FunctionId,
        summary: &Summary,
        actuals: &[SymbolicValue],
        ways: &[Disjunct],
        state: &mut State,
    ) {
        let (mut after, mut results) = (Vec::new(), Vec::new());
        for way in ways {
            let rebound = Rebound::default();
            for case in summary.cases.iter().enumerate() {
                if let Some((way, result)) = self.apply(at, callee, case, summary, actuals, way, &rebound) {
                    after.push(way);
                    results.push((result, case.1.fact));
                }
            }
        }
        self.define_each(at, results, &mut after);
        after.into_iter().for_each(|way| state.add(way));
        self.adopt(at, callee, summary, actuals);
    }

    /// Creations of a callee become the caller's: once, but for those that depend on what is passed.
    fn adopt(&mut self, at: usize, callee: FunctionId, summary: &Summary, actuals: &[SymbolicValue]) {
        let call = self.site(at);
        if !self.adopted.insert((at, callee)) && summary.decided_by_caller.is_empty() {
            return;
        }
        for (site, started) in &summary.creations {
            let decided = summary.decided_by_caller.contains(site);
            let name = if summary.is_named_by_caller(site) { call } else { *site };
            let module = self.subject.module;
            self.note_started(name, started.iter().filter_map(|s| module[*s].body()));
            let known = self.creations.entry(name).or_default();
            let before = known.len();
            known.extend(started.iter().copied());
            if decided {
                let functions = actuals.iter().flat_map(|a| a.paths());
                let started = functions.filter_map(|p| self.subject.function_symbol(p));
                let started: Vec<_> = started.collect();
                let given = |v: &SymbolicValue| v.paths().iter().any(|p| matches!(p.root, Root::Formal(_)));
                if actuals.iter().any(given) {
                    self.decided_by_caller.insert(name);
                }
                self.note_started(name, started.iter().filter_map(|s| module[*s].body()));
                self.creations.entry(name).or_default().extend(started);
            }
            if self.creations.get(&name).is_some_and(|c| c.len() != before) {
                self.news();
            }
        }
    }

    /// What one case does to one way, and what it gives back; none if it cannot be what happens there.
    ///
    /// A block is gone through again when one of its ways has changed: what cases made of the others is kept.
    #[expect(clippy::too_many_arguments, reason = "one call, seen from all sides")]
    fn apply(
        &mut self,
        at: usize,
        callee: FunctionId,
        (number, case): (usize, &Case),
        summary: &Summary,
        actuals: &[SymbolicValue],
        way: &Disjunct,
        rebound: &Rebound,
    ) -> Option<(Disjunct, SymbolicValue)> {
        self.threads_matter |= summary.threads_matter;
        self.named.extend(case.threads.keys());
        let known = self.applied.get(&(at, callee, number)).into_iter().flatten();
        let known = known.rev().find(|a| a.before == *way && a.actuals == actuals);
        let effect = match known.map(|a| a.effect.clone()) {
            Some(effect) => effect,
            None => {
                self.spent += case.memory.len() + case.locks.len() + case.published.len() / PLACES;
                let effect = self.effect(at, summary, case, actuals, way, rebound);
                let kept = self.applied.entry((at, callee, number)).or_default();
                if kept.len() >= KEPT {
                    kept.pop_front();
                }
                kept.push_back(Applied {
                    before: way.clone(),
                    actuals: actuals.to_vec(),
                    effect: effect.clone(),
                });
                effect
            }
        };
        let Effect {
            mut way,
            result,
            lost,
            joined,
        } = effect?;
        self.nameless += u32::from(lost);
        for (handle, in_loop) in joined {
            self.join_handle(&mut way, &handle, in_loop, at, false);
        }
        Some((way, result))
    }

    /// What one case makes of one way.
    fn effect(
        &self,
        at: usize,
        summary: &Summary,
        case: &Case,
        actuals: &[SymbolicValue],
        before: &Disjunct,
        rebound: &Rebound,
    ) -> Option<Effect> {
        let call = self.site(at);
        let given = match &case.result {
            Named(path) if !path.loads() => Some(path.root),
            value => value.paths().first().filter(|p| !p.loads()).map(|p| p.root),
        };
        let frame = Frame {
            actuals,
            call,
            given_back: given.filter(|r| matches!(r, Root::Fresh(_) | Root::Opaque(_))),
            summary,
        };
        let subject = self.subject;
        let rebind = |path: &Path| follow(subject, self.function, before, path, &|root| frame.root(root));
        let rebind_value = |value: &SymbolicValue| match value {
            Named(path) => rebind(path),
            SymbolicValue::May(name, paths) => {
                let all: Vec<SymbolicValue> = paths.iter().map(rebind).collect();
                let named: Option<Vec<Path>> = all.iter().map(|v| v.name().cloned()).collect();
                let name = if name.root == Root::Opaque(call) {
                    name.clone()
                } else {
                    Path::of(Root::Opaque(call))
                };
                named.map_or(Top, |paths| SymbolicValue::May(name, paths))
            }
            value => value.clone(),
        };
        for (key, fact) in case.requires.iter() {
            known(before, &rebind(key)).and(*fact)?;
        }
        let mut way = before.clone();
        // The call's own names stand for something new.
        way.forget(&[Root::Fresh(call), Root::Opaque(call)]);
        let arguments = match &self.body.instructions[at].operation {
            Operation::Call { arguments, .. } => &arguments[..],
            _ => &[],
        };
        let operand = |lock: &Path| match lock.root {
            Root::Formal(n) if !lock.loads() => arguments.get(usize::from(n)),
            _ => None,
        };
        let renamed = |lock: &Path| match lock.is_constant() && !lock.loads() {
            true => Some(lock.clone()),
            false => Some(self.by_place(rebind(lock).name()?.clone(), operand(lock))),
        };
        let (locks, lost) = case.locks.rebind(renamed);
        way.locks.update(&locks);
        way.locks.summarise();
        if lost > 0 {
            // A lock that the caller cannot name is given back: it may be any that has no lasting name.
            way.locks.forget(|held| !held.is_constant());
        }
        // Cases share most of what they store.
        let store = |path: &Path, value: &SymbolicValue| {
            let place = std::ptr::from_ref(path) as usize;
            let name = frame.given_back;
            let known = rebound.borrow().get(&(place, name)).cloned();
            known.unwrap_or_else(|| {
                let both = Rc::new((rebind(path), rebind_value(value)));
                rebound.borrow_mut().insert((place, name), Rc::clone(&both));
                both
            })
        };
        let stores: Vec<_> = case.memory.iter().map(|(path, value)| store(path, value)).collect();
        for stored in stores {
            let (to, value) = (&stored.0, stored.1.clone());
            if to.name().is_some() {
                self.store(&mut way, to, 8, value);
            }
        }
        for path in case.published.keys() {
            let value = rebind(path);
            way.publish(&value);
        }
        for (site, status) in case.threads.iter() {
            note_thread(&mut way, frame.creation(*site), *status);
        }
        way.waited = way.waited.then(case.waited);
        way.settled = way.settled.then(case.settled);
        way.barriers = way.barriers.zip(case.barriers).map(|(a, b)| a.saturating_add(b));
        let joined = summary.joined.iter().map(|j| (rebind(&j.handle), j.in_loop)).collect();
        let result = rebind_value(&case.result);
        Some(Effect {
            way,
            result,
            lost: lost > 0,
            joined,
        })
    }
}

/// All ways as one.
fn joined(ways: Vec<Disjunct>) -> Vec<Disjunct> {
    let mut state = crate::transfer::together(ways);
    state.collapse();
    state.into_ways()
}

/// A creation below a call.
pub(crate) fn note_thread(way: &mut Disjunct, site: Site, status: Status) {
    let known = way.threads.get(&site).copied();
    let now = match (known, status) {
        (Some(Status::Live | Status::Many), Status::Live) => Status::Many,
        (Some(Status::Many), Status::Many) => Status::Many,
        (_, status) => status,
    };
    Arc::make_mut(&mut way.threads).insert(site, now);
}
