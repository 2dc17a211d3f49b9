//! Functions stored in fields of structs.
//!
//! A field of a struct type is *closed* if all that the program stores there, by initialisers and by stores that name
//! the field, are functions, null, or what the same field of another object held. A call through a closed field goes to
//! those functions. (Multi-layer type analysis, CCS 2019, one layer of it: it measured a tenth of the targets that
//! types alone leave.)

use deadheat_ir::{Constant, Function, FunctionId, Module, Operation, SymbolKind, TagId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions by field.
#[derive(Clone, Debug, Default)]
pub struct FieldFunctions {
    stored: FxHashMap<TagId, Vec<FunctionId>>,
    open: FxHashSet<TagId>,
}

impl FieldFunctions {
    /// Collects what a program stores in the fields of its structs.
    pub fn of(module: &Module) -> FieldFunctions {
        let mut fields = FieldFunctions::default();
        for symbol in &module.symbols {
            if let SymbolKind::Variable { initialisers, .. } = &symbol.kind {
                for item in initialisers {
                    if let (Some(tag), Some(function)) = (item.tag, function_of(module, Value::Constant(item.value))) {
                        fields.stored.entry(tag).or_default().push(function);
                    }
                }
            }
        }
        for function in &module.functions {
            for instruction in &function.instructions {
                fields.store(module, function, &instruction.operation);
            }
        }
        for functions in fields.stored.values_mut() {
            functions.sort_unstable();
            functions.dedup();
        }
        fields
    }

    fn store(&mut self, module: &Module, function: &Function, operation: &Operation) {
        let (value, access) = match operation {
            Operation::Store { value, access, .. } | Operation::ReadModifyWrite { value, access, .. } => {
                (value, access)
            }
            Operation::CompareExchange { new, access, .. } => (new, access),
            _ => return,
        };
        let Some(tag) = access.tag else { return };
        self.value(module, function, tag, *value, 0);
    }

    /// A value is stored in a field; alternatives are followed a little.
    fn value(&mut self, module: &Module, function: &Function, tag: TagId, value: Value, depth: u32) {
        const DEEPEST: u32 = 4;
        if let Some(stored) = function_of(module, value) {
            self.stored.entry(tag).or_default().push(stored);
            return;
        }
        let definition = match value {
            Value::Constant(id) => {
                let harmless = matches!(
                    module[id],
                    Constant::Null | Constant::Undefined | Constant::Integer { .. }
                );
                if !harmless && !is_undefined_function(module, id) {
                    self.open.insert(tag);
                }
                return;
            }
            Value::Local(local) => function.definition(local).map(|instruction| &instruction.operation),
        };
        match definition {
            Some(Operation::Select { yes, no, .. }) if depth < DEEPEST => {
                for value in [yes, no] {
                    self.value(module, function, tag, *value, depth + 1);
                }
            }
            Some(Operation::Phi { incoming }) if depth < DEEPEST => {
                for (_, value) in incoming {
                    self.value(module, function, tag, *value, depth + 1);
                }
            }
            Some(Operation::Load { access, .. }) if access.tag == Some(tag) => {}
            _ => drop(self.open.insert(tag)),
        }
    }

    /// The functions stored in a field, and whether nothing else is.
    pub fn stored(&self, tag: TagId) -> (&[FunctionId], bool) {
        let functions = self.stored.get(&tag).map_or(&[][..], Vec::as_slice);
        (functions, !functions.is_empty() && !self.open.contains(&tag))
    }
}

/// The defined function whose address a value is.
pub fn function_of(module: &Module, value: Value) -> Option<FunctionId> {
    match module.constant(value)? {
        Constant::Address { symbol, offset: 0, .. } => module[*symbol].body(),
        _ => None,
    }
}

fn is_undefined_function(module: &Module, id: deadheat_ir::ConstantId) -> bool {
    match module[id] {
        Constant::Address { symbol, offset: 0, .. } => matches!(module[symbol].kind, SymbolKind::Function { .. }),
        _ => false,
    }
}
