//! The program under analysis, with what is looked up in it all the time: models by symbol, aliases of pointers, the
//! initial values of constants, locks that have only a name.

use crate::access_path::{Path, Site};
use crate::guard::Guard;
use crate::interned::Interned;
use crate::models::{Creation, Model, Models};
use crate::shape::Shape;
use crate::start_only::StartOnly;
use crate::state::{Status, Threads};
use crate::symbolic_value::SymbolicValue;
use deadheat_ir::{Callee, Constant, FunctionId, Module, Operation, SymbolId, SymbolKind, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Memory that a pointer may lead to: a class of objects and an offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The class.
    pub class: u32,
    /// Distance from the objects' start in bytes.
    pub offset: i64,
}

/// What a points-to analysis knows.
pub trait Aliasing: Sync {
    /// Where a value of a function leads; none if it is no pointer or nothing is known.
    fn pointee(&self, function: FunctionId, value: Value) -> Option<Cell>;
    /// Where a symbol's object is.
    fn object(&self, symbol: SymbolId) -> Option<Cell>;
    /// What an indirect call may call.
    fn targets(&self, function: FunctionId, instruction: usize) -> &[FunctionId];
    /// All functions that a library call may be handed.
    fn handed(&self, function: FunctionId, instruction: usize) -> Vec<FunctionId>;
    /// Whether other threads may reach the class.
    fn is_shared(&self, class: u32) -> bool;
    /// Whether the class holds objects that code made which is not seen: what it is told apart by is its type alone.
    fn is_outside(&self, class: u32) -> bool;
}

/// Numbers of the locks that have only a name, above all symbols.
const NAMED_LOCKS: u32 = 0xf000_0000;

/// Instructions of a program from which on functions are executed once.
const LARGE: usize = 250_000;
/// Instructions of a program without a start up to which it is followed which of its threads run.
const FOLLOWED: usize = 500_000;

/// The program.
pub struct Subject<'a> {
    /// Its tables.
    pub module: &'a Module,
    /// What pointers lead to.
    pub aliasing: &'a dyn Aliasing,
    /// Control flow of each function.
    pub shapes: Vec<Shape>,
    models: Vec<Option<&'a Model>>,
    named_locks: FxHashMap<&'a str, u32>,
    /// Functions that somebody registers to be called by whoever runs callbacks, in order.
    pub registered: Vec<FunctionId>,
    /// What only the program's start does.
    pub start_only: StartOnly,
    /// Instructions of the program.
    pub instructions: usize,
    /// A function is executed once, whatever it is entered with.
    pub is_large: bool,
    /// The program's start is known.
    pub has_start: bool,
    /// Classes of objects that some instruction reads or writes.
    pub accessed: FxHashSet<u32>,
    paths: Interned<Path>,
    guards: Interned<Vec<Guard>>,
    threads: Interned<BTreeMap<Site, Status>>,
}

impl<'a> Subject<'a> {
    /// Looks everything up once.
    pub fn new(module: &'a Module, models: &'a Models, aliasing: &'a dyn Aliasing) -> Subject<'a> {
        let model = |symbol: SymbolId| {
            let is_function = matches!(
                module[symbol].kind,
                SymbolKind::Function { .. } | SymbolKind::IFunc { .. }
            );
            let model = models.get(module.name(symbol)).filter(|_| is_function)?;
            // "Does nothing", or waits, is said of functions that cannot be looked into.
            let mut nothing = Model::default().named_as(model);
            nothing.sleeps = model.sleeps;
            (module[symbol].body().is_none() || *model != nothing).then_some(model)
        };
        let models: Vec<_> = module.symbols().map(|(id, _)| model(id)).collect();
        let mut names: Vec<&str> = models.iter().flatten().flat_map(|m| m.lock_names()).collect();
        names.sort_unstable();
        names.dedup();
        let registers = |symbol: SymbolId| models[symbol.index()].is_some_and(|m| !m.registers.is_empty());
        let mut registered = Vec::new();
        for (id, function) in module.functions() {
            for (at, instruction) in function.instructions.iter().enumerate() {
                if let Operation::Call {
                    callee: Callee::Direct(symbol),
                    ..
                } = instruction.operation
                    && registers(symbol)
                {
                    registered.extend(aliasing.handed(id, at));
                }
            }
        }
        registered.sort_unstable();
        registered.dedup();
        let instructions = module.functions.iter().map(|f| f.instructions.len()).sum();
        Subject {
            start_only: StartOnly::of(module, &[]),
            is_large: instructions > LARGE,
            instructions,
            has_start: module.find("main").is_some_and(|main| module[main].body().is_some()),
            accessed: accessed(module, aliasing),
            paths: Interned::default(),
            guards: Interned::default(),
            threads: Interned::default(),
            registered,
            module,
            aliasing,
            shapes: module.functions.iter().map(Shape::of).collect(),
            models,
            named_locks: names.into_iter().zip(NAMED_LOCKS..).collect(),
        }
    }

    /// The path, held once.
    pub(crate) fn path(&self, path: &Path) -> Arc<Path> {
        self.paths.get(path)
    }

    /// The guards, held once.
    pub(crate) fn guards(&self, guards: &Vec<Guard>) -> Arc<Vec<Guard>> {
        self.guards.get(guards)
    }

    /// The threads, held once.
    pub(crate) fn threads(&self, threads: &Threads) -> Threads {
        self.threads.shared(threads)
    }

    /// The model of a symbol, where it stands for the function.
    pub fn model(&self, symbol: SymbolId) -> Option<&'a Model> {
        self.models.get(symbol.index()).copied().flatten()
    }

    /// Whether it is followed which of a creation's threads run: without the program's start all roots have many instances,
    /// which order nothing but by waiting for each other; in a large program they are not told apart in any case.
    pub fn is_followed(&self, creation: &Creation) -> bool {
        self.has_start || creation.has_handle() && self.instructions <= FOLLOWED
    }

    /// The number of a lock that has only a name.
    pub fn named_lock(&self, name: &str) -> Option<u32> {
        self.named_locks.get(name).copied()
    }

    /// The name of the lock with this number, if it has only a name.
    pub fn lock_name(&self, number: u32) -> Option<&'a str> {
        self.named_locks
            .iter()
            .find(|(_, n)| **n == number)
            .map(|(name, _)| *name)
    }

    /// The symbol behind a root's number.
    pub fn symbol(&self, number: u32) -> Option<SymbolId> {
        ((number as usize) < self.module.symbols.len()).then(|| SymbolId::new(number))
    }

    /// The function with a body that a path is the address of.
    pub fn function(&self, path: &Path) -> Option<FunctionId> {
        self.module[self.function_symbol(path)?].body()
    }

    /// The function that a path is the address of.
    pub fn function_symbol(&self, path: &Path) -> Option<SymbolId> {
        let crate::access_path::Root::Global(number) = path.root else {
            return None;
        };
        let symbol = self.symbol(number).filter(|_| !path.loads())?;
        matches!(self.module[symbol].kind, SymbolKind::Function { .. }).then_some(symbol)
    }

    /// Whether each thread has its own of this symbol.
    pub fn is_thread_local(&self, number: u32) -> bool {
        let kind = self.symbol(number).map(|s| &self.module[s].kind);
        matches!(kind, Some(SymbolKind::Variable { thread_local: true, .. }))
    }

    /// The initial value at a place in a symbol that is never written.
    pub fn initial(&self, number: u32, offset: i64) -> Option<SymbolicValue> {
        let symbol = self.symbol(number)?;
        let SymbolKind::Variable {
            constant: true,
            initialisers,
            ..
        } = &self.module[symbol].kind
        else {
            return None;
        };
        let at = initialisers.iter().find(|i| i64::try_from(i.offset) == Ok(offset))?;
        Some(constant(&self.module[at.value]))
    }

    /// Where a creation leaves its thread's handle, by points-to.
    pub fn handle_place(&self, creation: Site) -> Option<Cell> {
        let function = self.module.functions.get(creation.function as usize)?;
        let instruction = function.instructions.get(creation.instruction as usize)?;
        let deadheat_ir::Operation::Call { callee, arguments, .. } = &instruction.operation else {
            return None;
        };
        let handle = self.model(self.callee(*callee)?)?.creates.as_ref()?.handle_at?;
        let operand = arguments.get(usize::from(handle))?;
        self.aliasing.pointee(FunctionId::new(creation.function), *operand)
    }

    /// A short-lived view of what a call calls.
    pub fn callee(&self, callee: Callee) -> Option<SymbolId> {
        match callee {
            Callee::Direct(symbol) => Some(symbol),
            Callee::Indirect(_) => None,
        }
    }
}

/// The value of a constant.
pub fn constant(constant: &Constant) -> SymbolicValue {
    match constant {
        // A true condition is 1, also where it is sign-extended.
        Constant::Integer { bits: 1, value } => SymbolicValue::Integer(value & 1),
        Constant::Integer { value, .. } => SymbolicValue::Integer(*value),
        Constant::Null => SymbolicValue::Integer(0),
        Constant::Address { symbol, offset, .. } => {
            SymbolicValue::of(crate::access_path::Root::Global(symbol.number())).plus(*offset)
        }
        Constant::Undefined | Constant::Aggregate(_) | Constant::Opaque => SymbolicValue::Top,
    }
}

/// Classes of objects that some instruction reads or writes.
fn accessed(module: &Module, aliasing: &dyn Aliasing) -> FxHashSet<u32> {
    let mut classes = FxHashSet::default();
    for (id, function) in module.functions() {
        for instruction in &function.instructions {
            let addresses = match &instruction.operation {
                Operation::Load { address, .. }
                | Operation::Store { address, .. }
                | Operation::ReadModifyWrite { address, .. }
                | Operation::CompareExchange { address, .. }
                | Operation::MemoryFill { to: address, .. } => [Some(*address), None],
                Operation::MemoryCopy { to, from, .. } => [Some(*to), Some(*from)],
                _ => continue,
            };
            let cells = addresses.into_iter().flatten().filter_map(|a| aliasing.pointee(id, a));
            classes.extend(cells.map(|cell| cell.class));
        }
    }
    classes
}
