//! Functions that have the pairs of their callers (the paper's second optimisation).
//!
//! A caller passes its pairs on to a callee if it always [calls](super::always_calls) it and neither it nor anything
//! else that it calls may synchronise: then whatever can run beside the caller can run beside the callee. The proof is
//! the paper's; that all calls of the callee count together changes nothing in it, since it needs one on each way.

use super::always_calls::always_calls;
use super::effects::{Effects, callee, callees_of};
use super::{Assumptions, Code};
use deadheat_ir::FunctionId;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Answers for one program.
pub struct Inheritance<'a> {
    code: &'a Code<'a>,
    effects: &'a Effects,
    alone: &'a [bool],
    assumptions: Assumptions,
    /// Whether a caller passes its pairs on to a callee.
    known: RefCell<HashMap<(FunctionId, FunctionId), bool>>,
    /// The same, through functions between them; no while it is not known.
    reached: RefCell<HashMap<(FunctionId, FunctionId), bool>>,
}

impl<'a> Inheritance<'a> {
    /// Of these.
    pub fn new(
        code: &'a Code<'a>,
        effects: &'a Effects,
        alone: &'a [bool],
        assumptions: Assumptions,
    ) -> Inheritance<'a> {
        Inheritance {
            code,
            effects,
            alone,
            assumptions,
            known: RefCell::default(),
            reached: RefCell::default(),
        }
    }

    /// The measurable functions that a linked function has its pairs from, ascending; none if it is to be measured.
    pub fn sources(&self, linked: u32) -> Option<Vec<u32>> {
        let body = self.code.body[linked as usize]?;
        if self.effects.recursive[body.index()] || !self.code.callers_known(body) {
            return None;
        }
        let mut sources = BTreeSet::new();
        let (mut seen, mut work) = (HashSet::from([linked]), vec![linked]);
        while let Some(at) = work.pop() {
            if !self.code.calls_known(at) {
                return None;
            }
            for caller in &self.code.linked[at as usize].callers {
                let own = self.code.body[*caller as usize]?;
                if self.alone[own.index()] {
                    continue;
                }
                if own == body || !self.reaches(own, body) {
                    return None;
                }
                if self.code.linked[*caller as usize].measurable {
                    sources.insert(*caller);
                } else if seen.insert(*caller) {
                    self.stands_for_its_callers(*caller, own)?;
                    work.push(*caller);
                }
            }
        }
        (!sources.is_empty()).then(|| sources.into_iter().collect())
    }

    /// A function that is run by others than its callers has none to stand for it.
    fn stands_for_its_callers(&self, linked: u32, body: FunctionId) -> Option<()> {
        let called = !self.code.linked[linked as usize].callers.is_empty();
        let main = self.code.module.function_name(body) == "main";
        (called && !main && self.code.callers_known(body)).then_some(())
    }

    /// Whether a function passes its pairs on to the heir, itself or through functions between them, which the
    /// optimiser inlined or which have no entry.
    fn reaches(&self, caller: FunctionId, heir: FunctionId) -> bool {
        if let Some(known) = self.reached.borrow().get(&(caller, heir)) {
            return *known;
        }
        self.reached.borrow_mut().insert((caller, heir), false);
        let through = |f: &&FunctionId| **f != caller && !self.effects.recursive[f.index()];
        let mut between = self.effects.callers[heir.index()].iter().filter(through);
        let reaches = self.passes_on(caller, heir)
            || !self.effects.recursive[caller.index()]
                && between.any(|f| self.passes_on(*f, heir) && self.reaches(caller, *f));
        self.reached.borrow_mut().insert((caller, heir), reaches);
        reaches
    }

    /// Whether the caller always calls the callee, and nothing else in it synchronises.
    fn passes_on(&self, caller: FunctionId, callee_id: FunctionId) -> bool {
        if let Some(known) = self.known.borrow().get(&(caller, callee_id)) {
            return *known;
        }
        let module = self.code.module;
        let function = &module[caller];
        let calls = |n: usize| callee(module, &function.instructions[n].operation) == Some(callee_id);
        let quiet = |n: usize| {
            let operation = &function.instructions[n].operation;
            !self.effects.may_synchronise(module, operation, |c| c == callee_id)
        };
        let passes = callees_of(module, function).any(|c| c == callee_id)
            && (0..function.instructions.len()).all(quiet)
            && always_calls(function, calls, self.assumptions.loops);
        self.known.borrow_mut().insert((caller, callee_id), passes);
        passes
    }
}
