//! Functions that only the thread which starts the program executes, and variables that only they write: there such a
//! variable holds what was stored last, whatever other threads do meanwhile.
//!
//! Whatever has its address taken may be called by any thread, and so may what that calls. A variable counts whose
//! address is used for nothing but loads and stores.

use crate::access_path::{Path, Root};
use deadheat_ir::{Callee, Constant, FunctionId, Module, Operation, SymbolId, SymbolKind, Value};

/// What only the program's start does.
#[derive(Debug, Default)]
pub struct StartOnly {
    /// By function: only the program's start executes it.
    executes: Vec<bool>,
    /// By symbol: only such functions write it.
    writes: Vec<bool>,
}

impl StartOnly {
    /// Of a program in which any thread may call these functions, too.
    pub fn of(module: &Module, entries: &[FunctionId]) -> StartOnly {
        let mut executes = vec![module.find("main").is_some(); module.functions.len()];
        let taken = module
            .functions()
            .filter(|(_, f)| module[f.symbol].address_taken)
            .map(|(id, _)| id);
        let mut due: Vec<FunctionId> = taken.chain(entries.iter().copied()).collect();
        while let Some(function) = due.pop() {
            if std::mem::replace(&mut executes[function.index()], false) {
                let called = module[function].instructions.iter().filter_map(|i| match i.operation {
                    Operation::Call {
                        callee: Callee::Direct(symbol),
                        ..
                    } => module[symbol].body(),
                    _ => None,
                });
                due.extend(called);
            }
        }
        let is_variable = |kind: &SymbolKind| {
            matches!(
                kind,
                SymbolKind::Variable {
                    thread_local: false,
                    ..
                }
            )
        };
        let symbols = module.symbols();
        let mut writes: Vec<bool> = symbols.map(|(_, s)| is_variable(&s.kind) && !s.address_taken).collect();
        for (_, function) in module.functions().filter(|(id, _)| !executes[id.index()]) {
            for instruction in &function.instructions {
                let (Operation::Store { address, .. }
                | Operation::ReadModifyWrite { address, .. }
                | Operation::CompareExchange { address, .. }) = &instruction.operation
                else {
                    continue;
                };
                if let Value::Constant(constant) = address
                    && let Constant::Address { symbol, .. } = module[*constant]
                {
                    writes[symbol.index()] = false;
                }
            }
        }
        StartOnly { executes, writes }
    }

    /// Whether only the program's start executes the function.
    pub fn executes(&self, function: FunctionId) -> bool {
        self.executes.get(function.index()).copied().unwrap_or(false)
    }

    /// Whether only functions that only the program's start executes write the variable.
    pub fn may_write(&self, variable: SymbolId) -> bool {
        self.writes.get(variable.index()).copied().unwrap_or(false)
    }

    /// Whether nobody else than who executes the function writes the variable with this root.
    pub fn writes(&self, function: FunctionId, root: Root) -> bool {
        let Root::Global(number) = root else { return false };
        self.executes(function) && self.writes.get(number as usize).copied().unwrap_or(false)
    }

    /// Whether the path is the value of such a variable.
    pub fn is_value(&self, function: FunctionId, path: &Path) -> bool {
        path.steps.len() == 2 && self.writes(function, path.root)
    }
}
