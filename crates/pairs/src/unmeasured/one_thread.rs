//! What runs only while there is one thread: before any is created.
//!
//! A function runs before the first thread if it creates none and every call of it does: in a function that itself
//! begins before, at a place that no call comes before that may create one. The greatest solution: all functions are
//! taken to begin before until a call, or an unknown caller, says otherwise. `main` and constructors begin before;
//! constructors do not if one of them may create a thread.

use super::Code;
use super::effects::{Effects, callee};
use deadheat_ir::{BlockId, Function, FunctionId, SymbolKind};

/// Which bodies run only while there is one thread.
pub fn runs_alone(code: &Code<'_>, effects: &Effects) -> Vec<bool> {
    let module = code.module;
    let count = module.functions.len();
    let attributes = |f: FunctionId| match module[module[f].symbol].kind {
        SymbolKind::Function { attributes, .. } => attributes,
        _ => Default::default(),
    };
    let ids = || (0..count as u32).map(FunctionId::new);
    let quiet_start = !ids().any(|f| attributes(f).constructor && effects.creates[f.index()]);
    let mut begins: Vec<bool> = ids()
        .map(|f| {
            let start = module.function_name(f) == "main" || attributes(f).constructor;
            // Destructors run after `main`, where it left threads.
            !attributes(f).destructor && if start { quiet_start } else { code.callers_known(f) }
        })
        .collect();
    let calls: Vec<Vec<(FunctionId, bool)>> = ids().map(|f| calls(code, effects, &module[f])).collect();
    let mut work: Vec<FunctionId> = ids().collect();
    while let Some(f) = work.pop() {
        for (callee, before) in &calls[f.index()] {
            if !(begins[f.index()] && *before) && std::mem::replace(&mut begins[callee.index()], false) {
                work.push(*callee);
            }
        }
    }
    (0..count).map(|n| begins[n] && !effects.creates[n]).collect()
}

/// The bodies that a function calls, and whether no call comes before that may create a thread.
fn calls(code: &Code<'_>, effects: &Effects, function: &Function) -> Vec<(FunctionId, bool)> {
    let creates = |n: usize| effects.may_create(code.module, &function.instructions[n].operation);
    let creating: Vec<bool> = function.blocks.iter().map(|b| b.range().any(creates)).collect();
    let mut after = vec![false; creating.len()];
    let mut work: Vec<usize> = (0..creating.len()).filter(|b| creating[*b]).collect();
    while let Some(block) = work.pop() {
        for to in function.blocks[block].terminator.successors().map(BlockId::index) {
            if !std::mem::replace(&mut after[to], true) {
                work.push(to);
            }
        }
    }
    let mut calls = Vec::new();
    for (block, after) in function.blocks.iter().zip(after) {
        let mut before = !after;
        for n in block.range() {
            if let Some(callee) = callee(code.module, &function.instructions[n].operation) {
                calls.push((callee, before));
            }
            before &= !creates(n);
        }
    }
    calls
}
