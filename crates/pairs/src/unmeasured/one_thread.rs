//! What runs only while there is one thread: before any is created, or after all have been joined.
//!
//! A function runs alone if it creates no thread and every call of it comes where there is none: in a function that
//! itself begins alone, at a place that no call comes before that may create one, unless the same function has
//! [joined](super::joins) it. The greatest solution: all functions are taken to begin alone until a call, or an unknown
//! caller, says otherwise. `main` and constructors begin alone; constructors do not if one of them may create a thread.

use super::Code;
use super::effects::{Effects, callee};
use super::joins;
use deadheat_ir::{Function, FunctionId, SymbolKind};

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

/// The bodies that a function calls, and whether no thread that it may have made can still run before.
fn calls(code: &Code<'_>, effects: &Effects, function: &Function) -> Vec<(FunctionId, bool)> {
    let operations = || function.instructions.iter().map(|i| &i.operation);
    let creates: Vec<bool> = operations().map(|o| effects.may_create(code.module, o)).collect();
    let alone = joins::alone(code.module, effects, function, &creates);
    let calls = operations().zip(alone);
    calls
        .filter_map(|(operation, alone)| Some((callee(code.module, operation)?, alone)))
        .collect()
}
