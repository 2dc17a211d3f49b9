//! Symbolic execution of one function (RELAY, section 3.1), which carries its relative locksets (3.2) along.
//!
//! Two things are computed: the value of each SSA local, one for the whole function, and the [`State`] at the entry of
//! each block. A local that has different values on different ways is named by its instruction, and what it is on a way
//! stands in that way's facts. Since locals only go up, from unknown yet to a value to a merged one, rounds of an
//! ordinary data-flow iteration over the states end; there are at most [`ROUNDS`], the first of which are cut short
//! ([`SKETCHES`]). Within a round a block is entered with what all its edges bring, and only ways that it has not been gone
//! through with go on from it.
//!
//! Whatever is wanted of the execution besides its exit (accesses, calls, acquisitions) is told to an [`Observer`] in
//! one last walk over the blocks.

use crate::access_path::{Path, Root, Site};
use crate::calls::Applied;
use crate::deciding::Deciding;
use crate::fact::Fact;
use crate::relative_lockset::Mode;
use crate::state::{Disjunct, State};
use crate::subject::{Cell, Subject};
use crate::summary::{Exit, JoinedHandle, Summary};
use crate::symbolic_value::SymbolicValue;
use deadheat_ir::{BlockId, Function, FunctionId, LocationId, Operation, SymbolId, TagId, Terminator, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Rounds of the whole function at most.
const ROUNDS: usize = 6;
/// Times that a block is gone through at most in the first rounds, which only find out where control flow merges values:
/// what comes of the ways in the end is left to the rounds that know.
const SKETCHES: [u32; 2] = [3, 4];
/// Times that a block is gone through in a round before its ways are joined that are alike, and twice that before all are.
const VISITS: u32 = 10;
/// The same in a function of many blocks.
const LEAST_VISITS: u32 = 3;
/// Times that all blocks of a function together are gone through before that.
const ALL_VISITS: usize = 1_000;
/// Instructions that ways are gone through, their places and what calls do to them counted in, for each of a function's own,
/// before all ways that come to a block again are joined; twice that, and all that come to a block or a call are.
const EFFORT: usize = 256;
/// The same at least, in a large program.
const LESS_EFFORT: usize = 6;
/// The same for all functions of a program together.
const ALL_EFFORT: usize = 6_000_000;
/// That effort from which downwards the first round looks at one way at a time.
const OUTLINED: usize = 48;
/// Times that effort after which blocks are left before they come to rest.
const EXHAUSTED: usize = 6;
/// How much more a function is worth that waits for threads: what is known of those is lost where its ways are joined.
const WAITING: usize = 8;
/// Places of a way that cost as much as an instruction.
pub(crate) const PLACES: usize = 4;
/// Instructions that any function is taken to have for that.
const LEAST_INSTRUCTIONS: usize = 24;
/// Times that a block is gone through in a round at most.
const MOST_VISITS: u32 = 40;

/// Locations of a state from which on it is worth looking for those that are used no more.
const BIG: usize = 32;

/// An access to memory.
#[derive(Clone, Debug)]
pub struct AccessEvent<'a> {
    /// The instruction.
    pub site: Site,
    /// Where it stands in the source.
    pub location: Option<LocationId>,
    /// The operand that is the address.
    pub operand: Value,
    /// Where it may be.
    pub address: &'a SymbolicValue,
    /// Bytes.
    pub size: u64,
    /// What it does.
    pub kind: AccessKind,
    /// Whether it is atomic.
    pub atomic: bool,
    /// Whether it is volatile.
    pub volatile: bool,
    /// The field, where it is known.
    pub tag: Option<TagId>,
    /// The way on which it happens, before it.
    pub way: &'a Disjunct,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Ends the object.
    Free,
}

/// A call of a function with a body.
#[derive(Clone, Debug)]
pub struct CallEvent<'a> {
    /// The instruction.
    pub site: Site,
    /// Where it stands in the source.
    pub location: Option<LocationId>,
    /// What is called.
    pub callee: FunctionId,
    /// The pointer through which it is called.
    pub through: Option<&'a SymbolicValue>,
    /// With what.
    pub actuals: &'a [SymbolicValue],
    /// Once-controlled code: its control.
    pub once: Option<&'a Path>,
    /// Nothing else can be called there.
    pub certain: bool,
    /// The way on which it happens, before it.
    pub way: &'a Disjunct,
}

/// Code that runs at the same time from here on.
#[derive(Clone, Debug)]
pub struct CreationEvent<'a> {
    /// The name of the creation: the instruction, or the outermost call that decided what is started.
    pub name: Site,
    /// The instruction.
    pub site: Site,
    /// Where it stands in the source.
    pub location: Option<LocationId>,
    /// The functions that may be started.
    pub functions: &'a [FunctionId],
    /// The value that they are by.
    pub through: &'a SymbolicValue,
    /// What they get.
    pub argument: &'a SymbolicValue,
    /// The model.
    pub model: &'a crate::models::Creation,
    /// Phis whose value differs in each round of a loop that creates.
    pub counters: &'a BTreeSet<Site>,
    /// The way on which it happens, before it.
    pub way: &'a Disjunct,
}

/// What a pass over the program wants to know of an execution.
pub trait Observer {
    /// Memory is accessed.
    fn access(&mut self, _event: AccessEvent<'_>) {}
    /// A function is called.
    fn call(&mut self, _event: CallEvent<'_>) {}
    /// A thread is created.
    fn creation(&mut self, _event: CreationEvent<'_>) {}
    /// A lock is taken.
    fn acquisition(&mut self, _site: Site, _location: Option<LocationId>, _lock: &Path, _mode: Mode, _way: &Disjunct) {}
    /// A lock is given back, if only for a while, which may be held under another name; none: any of them may be.
    fn release(&mut self, _lock: Option<&Path>, _way: &Disjunct) {}
    /// A word is changed as a hand-made lock is.
    fn hand_made_lock(&mut self, _word: &Path) {}
    /// A lock that has no name is taken or given back.
    fn nameless_lock(&mut self, _site: Site) {}
    /// The function returns.
    fn exit(&mut self, _way: &Disjunct) {}
}

/// Observes nothing.
pub struct Nothing;

impl Observer for Nothing {}

/// Summaries of callees.
pub trait Summaries {
    /// The summary, once there is one.
    fn summary(&self, function: FunctionId) -> Option<&Summary>;

    /// What tells the summary from others; 0: there is none, or nobody wants to know.
    fn digest(&self, _function: FunctionId) -> u128 {
        0
    }

    /// What a call does that may call any of these, as far as they have summaries.
    fn any_of(&self, functions: &[FunctionId]) -> Arc<Summary> {
        Arc::new(Summary::any_of(functions.iter().filter_map(|f| self.summary(*f))))
    }
}

/// How a function is entered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// Its actuals; one that is not given is named as the formal.
    pub formals: Vec<Option<SymbolicValue>>,
    /// The way.
    pub way: Disjunct,
    /// Name of the creations that its callers decide on.
    pub creator: Option<Site>,
}

impl Entry {
    /// By nobody in particular: everything relative to the entry.
    pub fn relative() -> Entry {
        Entry {
            formals: Vec::new(),
            way: Disjunct::entry(),
            creator: None,
        }
    }
}

/// What an edge brings to a block.
#[derive(Clone)]
struct Arrival {
    /// The block that it comes from.
    from: usize,
    ways: Vec<Disjunct>,
}

/// The execution of a function.
pub struct Execution<'a> {
    pub(crate) subject: &'a Subject<'a>,
    pub(crate) summaries: &'a dyn Summaries,
    pub(crate) function: FunctionId,
    pub(crate) body: &'a Function,
    pub(crate) entry: &'a Entry,
    pub(crate) environment: Vec<Option<SymbolicValue>>,
    /// Functions that each creation starts.
    pub(crate) creations: BTreeMap<Site, BTreeSet<SymbolId>>,
    /// Creations whose function the caller decides on.
    pub(crate) decided_by_caller: BTreeSet<Site>,
    /// Handles of the caller that are joined.
    pub(crate) joined: BTreeSet<JoinedHandle>,
    /// By loop: creations whose threads it joins.
    pub(crate) joins_in_loop: BTreeMap<usize, BTreeSet<Site>>,
    /// By loop: threads without known handles are joined in it.
    pub(crate) joins_unknown: BTreeSet<usize>,
    /// Locks given back or taken that have no name.
    pub(crate) nameless: u32,
    /// Functions handed to code that is not seen that are left out, by the call.
    pub(crate) left_out: BTreeMap<usize, usize>,
    /// What calls made of ways, by instruction, callee and case, the latest last.
    pub(crate) applied: FxHashMap<(usize, FunctionId, usize), VecDeque<Applied>>,
    /// Calls and callees whose creations are known to be the function's.
    pub(crate) adopted: FxHashSet<(usize, FunctionId)>,
    /// What calls do that may call many functions, by instruction, and of which functions it is.
    pub(crate) any_of: FxHashMap<usize, (Vec<FunctionId>, Arc<Summary>)>,
    /// Threads were created or waited for, here or in a callee: the threads on entry are not those at each point.
    pub(crate) threads_matter: bool,
    /// Creations that the function, or what it calls, goes by the names of.
    pub(crate) named: BTreeSet<Site>,
    /// Functions whose creations are among those.
    pub(crate) noted: FxHashSet<FunctionId>,
    /// Where handles of threads are read that are joined.
    pub(crate) places: BTreeSet<Cell>,
    /// What decides whether threads are waited for.
    pub(crate) deciding: Vec<Deciding>,
    /// Merges of which a side is undefined.
    one_sided: Vec<usize>,
    /// The block of each instruction.
    home: Vec<usize>,
    changed: bool,
    /// This round only finds out where control flow merges values, one way at a time.
    outlines: bool,
    states: Vec<State>,
    /// How often each block has been gone through in this round.
    visits: Vec<u32>,
    /// Instructions and places that ways have been gone through.
    pub(crate) spent: usize,
    /// Blocks that did not come to rest.
    pub(crate) unsettled: u32,
}

impl<'a> Execution<'a> {
    /// Executes a function until nothing changes.
    pub fn run(subject: &'a Subject<'a>, summaries: &'a dyn Summaries, function: FunctionId, entry: &'a Entry) -> Self {
        let body = &subject.module[function];
        let mut execution = Execution {
            subject,
            summaries,
            function,
            body,
            entry,
            environment: vec![None; body.instructions.len()],
            creations: BTreeMap::new(),
            decided_by_caller: BTreeSet::new(),
            joined: BTreeSet::new(),
            joins_in_loop: BTreeMap::new(),
            joins_unknown: BTreeSet::new(),
            nameless: 0,
            left_out: BTreeMap::new(),
            applied: FxHashMap::default(),
            adopted: FxHashSet::default(),
            any_of: FxHashMap::default(),
            threads_matter: false,
            named: BTreeSet::new(),
            noted: FxHashSet::default(),
            places: BTreeSet::new(),
            deciding: Vec::new(),
            one_sided: Vec::new(),
            home: Vec::with_capacity(body.instructions.len()),
            changed: false,
            outlines: false,
            states: Vec::new(),
            visits: Vec::new(),
            spent: 0,
            unsettled: 0,
        };
        for (number, block) in body.blocks.iter().enumerate() {
            execution.home.resize(block.end as usize, number);
        }
        execution.one_sided = execution.one_sided_merges();
        execution.deciding = execution.deciding();
        for round in 0..ROUNDS {
            execution.changed = false;
            let sketch = SKETCHES.get(round).copied();
            execution.outlines = round == 0 && execution.effort() <= OUTLINED;
            execution.round(sketch);
            if !execution.changed || round > 0 && execution.is_exhausted() {
                break;
            }
            if round == 0 {
                execution.keep_merges();
            }
        }
        execution
    }

    fn one_sided_merges(&self) -> Vec<usize> {
        let merges = self.body.instructions.iter().enumerate();
        merges
            .filter(|(_, i)| match &i.operation {
                Operation::Phi { incoming } => incoming.iter().any(|(_, value)| self.is_undefined(*value)),
                _ => false,
            })
            .map(|(n, _)| n)
            .collect()
    }

    /// Forgets what locals were before it was known where control flow merges other values: all but the merges.
    fn keep_merges(&mut self) {
        for (value, instruction) in self.environment.iter_mut().zip(&self.body.instructions) {
            if !matches!(instruction.operation, Operation::Phi { .. }) {
                *value = None;
            }
        }
    }

    /// The instruction's name.
    pub(crate) fn site(&self, instruction: usize) -> Site {
        Site {
            function: self.function.number(),
            instruction: instruction as u32,
        }
    }

    /// Something that holds for the whole function is known now that was not.
    pub(crate) fn news(&mut self) {
        self.changed = true;
    }

    /// The block that an instruction stands in.
    pub(crate) fn block_of(&self, instruction: usize) -> usize {
        self.home.get(instruction).copied().unwrap_or(self.body.blocks.len())
    }

    /// Goes through the function, each block at most so often; a round that would have to go on is no last one.
    fn round(&mut self, at_most: Option<u32>) {
        let count = self.body.blocks.len();
        self.states = vec![State::default(); count];
        self.unsettled = 0;
        if count == 0 {
            return;
        }
        let shape = &self.subject.shapes[self.function.index()];
        self.states[0] = State::of(self.entry.way.clone());
        self.visits = vec![0; count];
        let mut gone = vec![State::default(); count];
        let mut coming: Vec<Vec<Arrival>> = vec![Vec::new(); count];
        let mut due: BTreeSet<usize> = BTreeSet::from([0]);
        // A loop is gone through to its end before its head is come to again, with what all ways back bring.
        let mut next = 0;
        while let Some(position) = due.range(next..).next().or(due.first()).copied() {
            due.remove(&position);
            next = position + 1;
            let block = shape.order[position];
            let arrivals = std::mem::take(&mut coming[block]);
            let entered = self.enter(block, arrivals);
            // What has been gone through from here before has been passed on already.
            let fresh = entered.beyond(&gone[block]);
            if fresh.is_unreached() {
                continue;
            }
            self.visits[block] += 1;
            self.states[block] = entered.clone();
            let most = if self.is_exhausted() { LEAST_VISITS } else { MOST_VISITS };
            if self.visits[block] > at_most.unwrap_or(most).min(most) {
                self.changed |= at_most.is_some();
                self.unsettled += 1;
                continue;
            }
            let instructions = self.body.blocks[block].range().len() + 1;
            let places = fresh.ways().iter().map(|w| w.memory.len() / PLACES).sum::<usize>();
            self.spent += fresh.ways().len() * instructions + places;
            gone[block] = entered;
            let state = self.through(block, fresh, &mut Nothing);
            for (to, ways) in self.leave(block, state) {
                if let Some(position) = shape.position[to].filter(|_| !ways.is_empty()) {
                    coming[to].push(Arrival { from: block, ways });
                    due.insert(position);
                }
            }
        }
    }

    /// Goes through a block's instructions.
    fn through(&mut self, block: usize, mut state: State, observer: &mut dyn Observer) -> State {
        for instruction in self.body.blocks[block].range() {
            if state.is_unreached() {
                break;
            }
            state = self.step(instruction, state, observer);
        }
        state
    }

    /// The ways on which the block is left, by successor.
    fn leave(&self, block: usize, state: State) -> Vec<(usize, Vec<Disjunct>)> {
        let body = self.body;
        let ways = state.into_ways();
        let under = |this: &Self, condition: Value, holds: bool| {
            ways.iter()
                .filter_map(|w| this.assume(w.clone(), condition, holds))
                .collect::<Vec<_>>()
        };
        match &body.blocks[block].terminator {
            Terminator::Return(_) | Terminator::Resume | Terminator::Unreachable => vec![],
            Terminator::Branch { condition, yes, no } => vec![
                (yes.index(), under(self, *condition, true)),
                (no.index(), under(self, *condition, false)),
            ],
            Terminator::Switch {
                value: Some(value),
                cases,
                default,
            } => {
                let case = |(n, to): &(i64, BlockId)| {
                    let taken = ways.iter().filter_map(|w| self.assume_equal(w.clone(), *value, *n));
                    (to.index(), taken.collect())
                };
                let mut edges: Vec<(usize, Vec<Disjunct>)> = cases.iter().map(case).collect();
                let runs = runs(cases.iter().map(|(n, _)| *n).collect());
                let other = ways
                    .iter()
                    .filter_map(|w| self.assume_outside(w.clone(), *value, &runs));
                edges.push((default.index(), other.collect()));
                edges
            }
            other => other.successors().map(|to| (to.index(), ways.clone())).collect(),
        }
    }

    /// The state with which a block is entered, what arrives included.
    ///
    /// Phis take their values at once, from all edges: what they give is not seen by the others, and where they merge is
    /// known before any way goes on.
    fn enter(&mut self, block: usize, mut arrivals: Vec<Arrival>) -> State {
        for arrival in &mut arrivals {
            self.go_along(block, arrival);
        }
        let phis = self.phis(block);
        let given: Vec<Vec<(usize, SymbolicValue)>> = arrivals.iter().map(|a| self.given(&phis, a.from)).collect();
        let facts = |a: &Arrival| a.ways.iter().map(|way| self.given_facts(&phis, a.from, way)).collect();
        let facts: Vec<Vec<Vec<Fact>>> = arrivals.iter().map(facts).collect();
        for (phi, value) in given.iter().flatten() {
            self.assign(*phi, value.clone());
        }
        let mut state = self.states[block].clone();
        for ((arrival, given), facts) in arrivals.into_iter().zip(&given).zip(facts) {
            let mut brought = State::default();
            for (mut way, facts) in arrival.ways.into_iter().zip(facts) {
                for ((phi, _), fact) in given.iter().zip(facts) {
                    self.learn_named(*phi, fact, &mut way);
                }
                self.drop_dead(block, &mut way);
                way.decided = self.decided(&way);
                brought.add(way);
            }
            state.merge(brought);
        }
        if self.is_long() || self.visits[block] > 2 * self.patience() {
            // What is joined to be quick is looked at once more.
            self.changed |= self.outlines && state.ways().len() > 1;
            state.collapse();
        } else if self.visits[block] > self.patience() {
            state.join_alike();
        }
        state
    }

    /// Instructions that ways are meant to be gone through for each of a function's own.
    fn effort(&self) -> usize {
        Execution::bounds(self.subject)
    }

    /// What the program's size decides.
    pub(crate) fn bounds(subject: &Subject<'_>) -> usize {
        (ALL_EFFORT / subject.instructions.max(1)).clamp(LESS_EFFORT, EFFORT)
    }

    /// How many times as much as it is meant to be the function has been gone through.
    pub(crate) fn overdone(&self) -> usize {
        let worth = if self.deciding.is_empty() { 1 } else { WAITING };
        self.spent / (worth * self.effort() * self.body.instructions.len().max(LEAST_INSTRUCTIONS))
    }

    /// Whether only one way at a time is looked at: it has been gone through for long, or this is to be quick.
    pub(crate) fn is_long(&self) -> bool {
        self.outlines || self.overdone() >= 2
    }

    /// Whether it has been gone through for so long that it is left before it comes to rest.
    fn is_exhausted(&self) -> bool {
        self.overdone() >= EXHAUSTED
    }

    /// Times that a block is gone through with ways that are alike.
    fn patience(&self) -> u32 {
        if self.overdone() > 0 {
            return 0;
        }
        ((ALL_VISITS / self.body.blocks.len().max(1)) as u32).clamp(LEAST_VISITS, VISITS)
    }

    /// Goes along an edge: leaves loops, and closes them.
    fn go_along(&self, to: usize, arrival: &mut Arrival) {
        let shape = &self.subject.shapes[self.function.index()];
        for each in shape.left(arrival.from, to) {
            self.join_loop(each, &mut arrival.ways);
        }
        if shape.is_back_edge(arrival.from, to) {
            // Another thread may have written in the meantime.
            arrival.ways.iter_mut().for_each(|way| self.forget_shared(way));
        }
    }

    /// The phis of a block, and what they merge.
    fn phis(&self, block: usize) -> Vec<(usize, &'a [(BlockId, Value)])> {
        let body = self.body;
        let phi = |n: usize| match &body.instructions[n].operation {
            Operation::Phi { incoming } => Some((n, &incoming[..])),
            _ => None,
        };
        body.blocks[block].range().map_while(phi).collect()
    }

    /// What an edge gives each phi for which it has something defined.
    fn operands<'p>(
        &'p self,
        phis: &'p [(usize, &'p [(BlockId, Value)])],
        from: usize,
    ) -> impl Iterator<Item = (usize, Value)> + 'p {
        let operand =
            move |incoming: &[(BlockId, Value)]| incoming.iter().find(|(b, _)| b.index() == from).map(|(_, v)| *v);
        let all = phis
            .iter()
            .filter_map(move |(phi, incoming)| Some((*phi, operand(incoming)?)));
        all.filter(|(_, value)| !self.is_undefined(*value))
    }

    fn given(&self, phis: &[(usize, &[(BlockId, Value)])], from: usize) -> Vec<(usize, SymbolicValue)> {
        self.operands(phis, from)
            .map(|(phi, operand)| (phi, self.value(operand)))
            .collect()
    }

    fn given_facts(&self, phis: &[(usize, &[(BlockId, Value)])], from: usize, way: &Disjunct) -> Vec<Fact> {
        self.operands(phis, from)
            .map(|(_, operand)| self.knowledge(way, operand))
            .collect()
    }

    /// Drops values of memory that others may write.
    pub(crate) fn forget_shared(&self, way: &mut Disjunct) {
        let start_only = &self.subject.start_only;
        way.forget_shared(
            |place| !place.loads() && start_only.writes(self.function, place.root),
            |value| start_only.is_value(self.function, value),
        );
    }

    /// Drops, in a big state, what hangs on values that no instruction from `to` on can use: those of blocks that do not
    /// dominate it. A merge that has only one defined side goes by that side's name.
    fn drop_dead(&self, to: usize, way: &mut Disjunct) {
        if way.memory.len() <= BIG {
            return;
        }
        let shape = &self.subject.shapes[self.function.index()];
        let own = self.function.number();
        let count = self.body.instructions.len();
        let merged = |root: Root| {
            let mut values = self.one_sided.iter().filter_map(|n| self.environment[*n].as_ref());
            values.any(|v| v.paths().iter().any(|p| p.mentions(|r| r == root)))
        };
        way.drop_dead(|root| match root {
            Root::Opaque(site) if site.function == own && (site.instruction as usize) < count => {
                !shape.dominates(self.block_of(site.instruction as usize), to) && !merged(root)
            }
            _ => false,
        });
    }

    /// Tells an observer what happens.
    pub fn observe(&mut self, observer: &mut dyn Observer) {
        let shape = &self.subject.shapes[self.function.index()];
        for block in &shape.order {
            let state = self.through(*block, self.states[*block].clone(), observer);
            if matches!(self.body.blocks[*block].terminator, Terminator::Return(_)) {
                state.ways().iter().for_each(|way| observer.exit(way));
            }
        }
    }

    /// The ways on which the function returns, each with what it gives back.
    pub fn exits(&mut self) -> Vec<Exit> {
        let body = self.body;
        let mut exits = Vec::new();
        for (number, block) in body.blocks.iter().enumerate() {
            let Terminator::Return(value) = &block.terminator else {
                continue;
            };
            let state = self.through(number, self.states[number].clone(), &mut Nothing);
            for way in state.into_ways() {
                let result = value.map_or(SymbolicValue::Top, |v| self.value(v));
                let fact = value.map_or(Fact::ANY, |v| self.knowledge(&way, v));
                exits.push(Exit { way, result, fact });
            }
        }
        exits
    }

    /// Whether an instruction's value is a function of its operands.
    fn is_computed(&self, instruction: usize) -> bool {
        let operation = &self.body.instructions[instruction].operation;
        use Operation::{Binary, Cast, Extract, Offset};
        matches!(operation, Offset { .. } | Binary { .. } | Cast { .. } | Extract { .. })
    }

    /// The value that a local has in the whole function, and what is known of it on this way.
    pub(crate) fn define(&mut self, instruction: usize, value: SymbolicValue, fact: Fact, way: &mut Disjunct) {
        self.assign(instruction, value);
        self.learn_named(instruction, fact, way);
    }

    /// Gives a local a value on each of several ways. What it is in the whole function is known before any way goes on.
    pub(crate) fn define_each(
        &mut self,
        instruction: usize,
        values: Vec<(SymbolicValue, Fact)>,
        ways: &mut [Disjunct],
    ) {
        let (values, facts): (Vec<SymbolicValue>, Vec<Fact>) = values.into_iter().unzip();
        values.into_iter().for_each(|value| self.assign(instruction, value));
        for (way, fact) in ways.iter_mut().zip(facts) {
            self.learn_named(instruction, fact, way);
        }
    }

    /// Joins a value to what a local is in the whole function.
    ///
    /// The first value that an instruction gives is no news: it is executed before whatever uses it. So is what edges bring
    /// to a block that has not been gone through.
    fn assign(&mut self, instruction: usize, value: SymbolicValue) {
        let site = self.site(instruction);
        let value = match value {
            SymbolicValue::Top => SymbolicValue::of(Root::Opaque(site)),
            value => value,
        };
        let Some(old) = &self.environment[instruction] else {
            self.environment[instruction] = Some(value);
            return;
        };
        // What is computed from operands alone goes with them.
        let joined = if self.is_computed(instruction) {
            value
        } else {
            old.join(&value, site)
        };
        if *old != joined {
            self.environment[instruction] = Some(joined);
            self.changed |= self.visits[self.block_of(instruction)] > 0;
        }
    }

    /// What is known of a local on a way on which it was just given its value, if that has no other name.
    fn learn_named(&self, instruction: usize, fact: Fact, way: &mut Disjunct) {
        let name = Root::Opaque(self.site(instruction));
        let key = self.environment[instruction].as_ref().and_then(SymbolicValue::key);
        let Some(key) = key.filter(|k| k.mentions(|r| r == name)) else {
            return;
        };
        way.forget(&[name]);
        if *key == Path::of(name) && fact.says_something() {
            way.facts.insert(key.clone(), fact);
        }
    }
}

/// Runs of integers that follow each other: the first and the last of each.
fn runs(mut all: Vec<i64>) -> Vec<(i64, i64)> {
    all.sort_unstable();
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for n in all {
        match runs.last_mut() {
            Some((_, last)) if n.checked_sub(1) == Some(*last) => *last = n,
            _ => runs.push((n, n)),
        }
    }
    runs
}
