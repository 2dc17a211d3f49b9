//! Functions that need not be measured (section 3.2.3 of the paper), decided on the bitcode.
//!
//! - What touches only its [own stack](own_stack) is in no race, whatever it is concurrent with.
//! - What runs only while there is [one thread](one_thread) is concurrent with nothing.
//! - A function [inherits](inheritance) the pairs of its callers where each of them calls it whenever it runs and
//!   nothing else in them synchronises.
//!
//! Two things are asked of a function that is left out, and they weigh differently. *Who calls it* must be known for
//! sure, or pairs would be lost: callers are those of the linked code ([`LinkedFunction`]), so that inlining, copies
//! that the optimiser makes and jumps instead of calls are seen as they are, and a function that is referred to in any
//! other way stays measured. *Whether callers always call it* decides only whether pairs may be claimed that are not
//! concurrent: a caller's time includes its callee's.
//!
//! So each caller counts by itself: one that runs alone brings no pairs and need not qualify; one without an entry of
//! its own (nothing in it is watched) stands for its own callers; and a call that was inlined into another function
//! inherits from that. Beyond the paper, which asks the same of all callers.
//!
//! Functions in a cycle of calls stay measured. Calls through pointers may synchronise and create threads. A path that
//! ends in an exception or does not return is none that a caller must call on. Numbers in the linked code and in the
//! bitcode meet by symbol: what has no name of its own (static functions of one name in
//! two files) stays measured.
//!
//! Cost: linear in the instructions, times the callers for functions that may inherit.

mod always_calls;
mod effects;
mod inheritance;
mod joins;
mod library;
mod one_thread;
mod own_stack;

use crate::unmeasured::effects::Effects;
use crate::unmeasured::inheritance::Inheritance;
use deadheat_ir::{FunctionId, Module, Program};
use std::collections::{HashMap, HashSet};

/// A function of the linked program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkedFunction {
    /// Its symbols: more than one where copies were merged or an alias stands beside it.
    pub names: Vec<String>,
    /// It has an entry that measuring can switch on.
    pub measurable: bool,
    /// Functions whose code calls it, by their places in the list.
    pub callers: Vec<u32>,
    /// Something but calls refers to it: a jump, its address in code or data, another file.
    pub referred: bool,
    /// Names of the functions whose statements are watched in it, itself among them; none if some are not known.
    pub sources: Option<Vec<String>>,
}

/// What is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// A loop that is come to goes round at least once (the paper's assumption). Where one does not, pairs are claimed
    /// that are not concurrent; none is lost.
    pub loops: bool,
}

impl Default for Assumptions {
    fn default() -> Assumptions {
        Assumptions { loops: true }
    }
}

/// Why a function need not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It touches its own stack only.
    OwnStack,
    /// It runs only while there is one thread.
    OneThread,
    /// It has the pairs of these functions, by their places in the list, ascending; they may be left out themselves.
    Inherits(Vec<u32>),
}

impl Reason {
    /// The functions whose pairs it has.
    pub fn sources(&self) -> &[u32] {
        match self {
            Reason::Inherits(from) => from,
            _ => &[],
        }
    }
}

/// Decides for each function of a linked program; none: it is to be measured. `program` is its bitcode, functions not
/// inlined into each other.
pub fn unmeasured(program: &Program, linked: &[LinkedFunction], assumptions: Assumptions) -> Vec<Option<Reason>> {
    let code = Code::new(&program.module, linked);
    let effects = Effects::of(code.module);
    let alone = one_thread::runs_alone(&code, &effects);
    let own_stack = own_stack::OwnStack::of(program);
    let inheritance = Inheritance::new(&code, &effects, &alone, assumptions);
    let decide = |(n, function): (usize, &LinkedFunction)| {
        let body = code.body[n].filter(|_| function.measurable)?;
        if alone[body.index()] {
            return Some(Reason::OneThread);
        }
        inheritance.sources(n as u32).map(Reason::Inherits)
    };
    let mut reasons: Vec<Option<Reason>> = linked.iter().enumerate().map(decide).collect();
    // Whoever is inherited from is measured, though in no race itself.
    let sources: HashSet<u32> = reasons.iter().flatten().flat_map(Reason::sources).copied().collect();
    for (n, function) in linked.iter().enumerate() {
        let Some(body) = code.body[n].filter(|_| function.measurable) else {
            continue;
        };
        let stands_for_others = sources.contains(&(n as u32));
        if !stands_for_others && !alone[body.index()] && own_stack.holds(&code, body, function) {
            reasons[n] = Some(Reason::OwnStack);
        }
    }
    reasons
}

/// The bitcode and the linked code, joined by names.
struct Code<'a> {
    module: &'a Module,
    linked: &'a [LinkedFunction],
    /// The body of each linked function, if its name is its own in both.
    body: Vec<Option<FunctionId>>,
    /// The linked function of each body.
    linked_as: Vec<Option<u32>>,
    /// Bodies by name; none where several have it.
    named: HashMap<&'a str, Option<FunctionId>>,
    /// All names of linked functions.
    names: HashSet<&'a str>,
}

impl<'a> Code<'a> {
    fn new(module: &'a Module, linked: &'a [LinkedFunction]) -> Code<'a> {
        let mut named: HashMap<&str, Option<FunctionId>> = HashMap::new();
        for (id, _) in module.functions() {
            let known = named.entry(module.function_name(id));
            known.and_modify(|body| *body = None).or_insert(Some(id));
        }
        let mut times: HashMap<&str, u32> = HashMap::new();
        for name in linked.iter().flat_map(|f| &f.names) {
            *times.entry(name).or_default() += 1;
        }
        let of = |function: &LinkedFunction| {
            let known = |name: &String| named.contains_key(name.as_str());
            let mut names = function.names.iter().filter(|name| known(name));
            let (name, more) = (names.next()?.as_str(), names.next());
            named[name].filter(|_| times[name] == 1 && more.is_none())
        };
        let body: Vec<Option<FunctionId>> = linked.iter().map(of).collect();
        let mut linked_as = vec![None; module.functions.len()];
        for (n, body) in body.iter().enumerate() {
            if let Some(body) = body {
                linked_as[body.index()] = Some(n as u32);
            }
        }
        Code {
            module,
            linked,
            body,
            linked_as,
            named,
            names: times.into_keys().collect(),
        }
    }

    /// Whether all that calls a body is bitcode that is seen here. A body that is in no linked function was inlined
    /// wherever it is called.
    fn callers_known(&self, body: FunctionId) -> bool {
        let symbol = &self.module[self.module[body].symbol];
        if symbol.address_taken || self.named[self.module.function_name(body)].is_none() {
            return false;
        }
        match self.linked_as[body.index()] {
            Some(linked) => self.calls_known(linked),
            // Its name may be that of several linked functions, or of one that has others too.
            None => !self.names.contains(self.module.function_name(body)),
        }
    }

    /// The same of a linked function.
    fn calls_known(&self, linked: u32) -> bool {
        let function = &self.linked[linked as usize];
        let seen = |caller: &u32| self.body[*caller as usize].is_some();
        !function.referred && function.callers.iter().all(seen)
    }
}
