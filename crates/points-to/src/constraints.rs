//! From instructions to unifications.

use crate::calls::Fitting;
use crate::cells::{Cell, Cells};
use crate::fresh::{Summaries, gives_fresh};
use crate::function_pointers::FieldFunctions;
use crate::integers;
use crate::library::{Effect, Library, Returns};
use crate::result::Object;
use crate::{Limits, Statistics};
use deadheat_ir::{
    Access, AssemblyRole, Callee, CastKind, Class, Constant, ConstantId, Function, FunctionId, Module, Operation,
    SignatureId, SymbolId, SymbolKind, Tag, TagId, Terminator, Value,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// No cell yet.
pub(crate) const NONE: Cell = Cell {
    node: u32::MAX,
    offset: 0,
};

/// The analysis at work.
pub(crate) struct Analysis<'p> {
    pub(crate) module: &'p Module,
    pub(crate) limits: Limits,
    pub(crate) cells: Cells,
    /// First local of each function in `values`.
    pub(crate) base: Vec<u32>,
    /// What each local points to.
    pub(crate) values: Vec<Cell>,
    /// Which locals may hold an address.
    pub(crate) holds: Vec<bool>,
    /// The object that each symbol is.
    pub(crate) symbols: Vec<Cell>,
    /// What each function returns.
    pub(crate) returns: Vec<Cell>,
    /// What each library function returns.
    pub(crate) library_returns: Vec<Cell>,
    /// What the library does, by symbol; asked once.
    pub(crate) effects: Vec<Option<Effect>>,
    /// Calls of these symbols give fresh objects.
    pub(crate) fresh: Vec<bool>,
    pub(crate) summaries: Summaries,
    pub(crate) fields: FieldFunctions,
    pub(crate) objects: Vec<(Cell, Object)>,
    pub(crate) indirect: Vec<(FunctionId, usize)>,
    pub(crate) handing: Vec<(FunctionId, usize, SymbolId)>,
    /// Cells whose objects code that the program does not see may reach.
    pub(crate) published: Vec<Cell>,
    /// What functions give back of which nothing is known: addresses of objects made in code that is not seen.
    pub(crate) outside: Vec<Cell>,
    pub(crate) statistics: Statistics,
    /// Targets by node and type of call, worked out in this round.
    pub(crate) fitting: FxHashMap<(u32, SignatureId), Rc<Fitting>>,
}

impl<'p> Analysis<'p> {
    pub(crate) fn new(module: &'p Module, library: &dyn Library, limits: &Limits) -> Analysis<'p> {
        let summaries = Summaries::of(module, library);
        let fresh = module
            .symbols()
            .map(|(id, _)| gives_fresh(module, library, &summaries, id))
            .collect();
        let mut analysis = Analysis {
            module,
            limits: *limits,
            cells: Cells::new(limits.precision),
            base: Vec::with_capacity(module.functions.len()),
            values: Vec::new(),
            holds: Vec::new(),
            symbols: Vec::with_capacity(module.symbols.len()),
            returns: vec![NONE; module.functions.len()],
            library_returns: vec![NONE; module.symbols.len()],
            effects: module
                .symbols()
                .map(|(id, _)| library.effect(module.name(id)))
                .collect(),
            fresh,
            summaries,
            fields: FieldFunctions::of(module),
            objects: Vec::new(),
            indirect: Vec::new(),
            handing: Vec::new(),
            published: Vec::new(),
            outside: Vec::new(),
            statistics: Statistics::default(),
            fitting: FxHashMap::default(),
        };
        analysis.statistics.fresh = analysis.summaries.fresh();
        for function in &module.functions {
            analysis.base.push(analysis.holds.len() as u32);
            let holds = integers::holders(function, |n| analysis.class(function, n));
            analysis.holds.extend(holds);
        }
        analysis.values = vec![NONE; analysis.holds.len()];
        analysis
    }

    fn class(&self, function: &Function, local: u32) -> Class {
        match local.checked_sub(function.parameters) {
            Some(instruction) => function.instructions[instruction as usize].class,
            None => match self.module[function.symbol].kind {
                SymbolKind::Function { signature, .. } => {
                    let classes = &self.module[signature].parameters;
                    classes.get(local as usize).copied().unwrap_or(Class::Void)
                }
                _ => Class::Void,
            },
        }
    }

    /// Makes the constraints of the whole program; calls through pointers are left for later.
    pub(crate) fn generate(&mut self) {
        for (id, _) in self.module.symbols() {
            let cell = self.cells.node(true);
            self.symbols.push(cell);
            self.objects.push((cell, Object::Symbol(id)));
        }
        for (id, symbol) in self.module.symbols() {
            if let SymbolKind::Variable { initialisers, .. } = &symbol.kind {
                for item in initialisers {
                    if let Some(value) = self.constant(item.value) {
                        let place = self.at(id, item.offset as i64);
                        let content = self.cells.content(place);
                        self.cells.unify(content, value);
                    }
                }
            }
        }
        for (id, function) in self.module.functions() {
            for (n, instruction) in function.instructions.iter().enumerate() {
                self.instruction(id, function, n, &instruction.operation, instruction.class);
            }
            for block in &function.blocks {
                if let Terminator::Return(Some(value)) = &block.terminator {
                    self.returned(id, *value);
                }
            }
        }
    }

    /// A place in a symbol's object. In an array of structs every element is the first.
    fn at(&self, symbol: SymbolId, offset: i64) -> Cell {
        let element = match self.module[symbol].kind {
            SymbolKind::Variable {
                structure: Some(structure),
                size,
                ..
            } => {
                let element = self.module[structure].size;
                if element > 0 && size > element && size % element == 0 {
                    element as i64
                } else {
                    i64::MAX
                }
            }
            _ => i64::MAX,
        };
        self.symbols[symbol.index()].moved(if offset >= 0 { offset % element } else { offset })
    }

    /// What a constant points to.
    fn constant(&mut self, id: ConstantId) -> Option<Cell> {
        match &self.module[id] {
            Constant::Address { symbol, offset, .. } => Some(self.address(*symbol, *offset)),
            Constant::Aggregate(members) => {
                // An aggregate value is told by a node that holds its members.
                let whole = self.cells.node(false);
                for (offset, member) in members {
                    if let Some(value) = self.constant(*member) {
                        let content = self.cells.content(whole.moved(*offset as i64));
                        self.cells.unify(content, value);
                    }
                }
                Some(whole)
            }
            _ => None,
        }
    }

    fn address(&mut self, symbol: SymbolId, offset: i64) -> Cell {
        let row = &self.module[symbol];
        match &row.kind {
            // Code has no contents: each use of its address is a node of its own.
            SymbolKind::Function { body: Some(body), .. } => self.cells.function(body.number()),
            SymbolKind::Function { body: None, .. } => self.cells.node(false),
            SymbolKind::IFunc {
                resolver: Some(resolver),
            } => match self.module[*resolver].body() {
                Some(body) => self.return_cell(body),
                None => self.cells.node(false),
            },
            // Nor does it matter who shares a constant that holds no address.
            SymbolKind::Variable {
                constant: true,
                defined: true,
                initialisers,
                ..
            } if !initialisers
                .iter()
                .any(|item| matches!(self.module[item.value], Constant::Address { .. })) =>
            {
                self.cells.node(false)
            }
            _ => self.at(symbol, offset),
        }
    }

    pub(crate) fn return_cell(&mut self, function: FunctionId) -> Cell {
        if self.returns[function.index()] == NONE {
            self.returns[function.index()] = self.cells.node(false);
        }
        self.returns[function.index()]
    }

    /// What an operand points to; none if it holds no address.
    pub(crate) fn value(&mut self, function: FunctionId, value: Value) -> Option<Cell> {
        match value {
            Value::Constant(id) => self.constant(id),
            Value::Local(local) => {
                let n = self.base[function.index()] as usize + local.index();
                self.holds[n].then(|| self.local(n))
            }
        }
    }

    /// The cell of a local, by its number in `values`; made if there was none.
    pub(crate) fn local(&mut self, n: usize) -> Cell {
        if self.values[n] == NONE {
            self.values[n] = self.cells.node(false);
        }
        self.values[n]
    }

    /// An operand that is used as an address, whatever its class.
    fn pointer(&mut self, function: FunctionId, value: Value) -> Option<Cell> {
        match value {
            Value::Constant(id) => self.constant(id),
            Value::Local(local) => Some(self.local(self.base[function.index()] as usize + local.index())),
        }
    }

    /// A local points where this cell is.
    pub(crate) fn set(&mut self, n: usize, cell: Cell) {
        match self.values[n] {
            NONE => self.values[n] = cell,
            known => self.cells.unify(known, cell),
        }
    }

    fn flows(&mut self, function: FunctionId, from: Value, to: usize) {
        if self.holds[to]
            && let Some(cell) = self.value(function, from)
        {
            self.set(to, cell);
        }
    }

    fn returned(&mut self, function: FunctionId, value: Value) {
        if let Some(cell) = self.value(function, value) {
            match self.returns[function.index()] {
                NONE => self.returns[function.index()] = cell,
                known => self.cells.unify(known, cell),
            }
        }
    }

    fn object(&mut self, n: usize, object: Object) {
        let cell = self.cells.node(true);
        self.objects.push((cell, object));
        self.set(n, cell);
    }

    fn instruction(&mut self, id: FunctionId, function: &Function, n: usize, operation: &Operation, class: Class) {
        let own = self.base[id.index()] as usize + function.parameters as usize + n;
        match operation {
            Operation::Alloca { .. } => self.object(own, Object::Frame(id, n as u32)),
            Operation::Load { address, .. } if self.holds[own] => {
                if let Some(address) = self.pointer(id, *address) {
                    let loaded = self.stored_at(address, class);
                    self.set(own, loaded);
                }
            }
            Operation::Store { address, value, access } => self.store(id, *address, *value, access),
            Operation::ReadModifyWrite {
                address, value, access, ..
            } => {
                self.store(id, *address, *value, access);
                self.load_old(id, *address, own);
            }
            Operation::CompareExchange {
                address, new, access, ..
            } => {
                self.store(id, *address, *new, access);
                if self.holds[own]
                    && let Some(address) = self.pointer(id, *address)
                {
                    // The old value is the first member of the aggregate that is given.
                    let old = self.cells.content(address);
                    let whole = self.local(own);
                    let member = self.cells.content(whole);
                    self.cells.unify(member, old);
                }
            }
            Operation::Offset {
                base,
                constant,
                indices,
                path,
            } => {
                let Some(base) = self.pointer(id, *base) else { return };
                let to = base.moved(*constant);
                let extent = path.last().map_or(i64::MAX, |tag| self.extent(*tag));
                for (_, stride) in indices.iter().filter(|(_, stride)| stride % 8 == 0 && *stride > 0) {
                    self.cells.walk(to, (*stride).min(1 << 20) as u32, extent);
                }
                self.set(own, to);
            }
            Operation::Phi { incoming } => incoming.iter().for_each(|(_, value)| self.flows(id, *value, own)),
            Operation::Select { yes, no, .. } => [yes, no].into_iter().for_each(|value| self.flows(id, *value, own)),
            Operation::Cast {
                kind: CastKind::Convert,
                ..
            } => {}
            Operation::Cast { value, .. } => self.flows(id, *value, own),
            Operation::Binary { left, right, .. } => {
                [left, right].into_iter().for_each(|value| self.flows(id, *value, own))
            }
            Operation::Mix { operands } => operands.iter().for_each(|value| self.flows(id, *value, own)),
            Operation::Extract { from, offset } if self.holds[own] => {
                if let Some(whole) = self.value(id, *from) {
                    let member = self.stored_at(whole.moved(*offset as i64), class);
                    self.set(own, member);
                }
            }
            Operation::Insert { into, value, offset } => {
                self.flows(id, *into, own);
                if let Some(value) = self.value(id, *value) {
                    let whole = self.local(own);
                    let member = self.cells.content(whole.moved(*offset as i64));
                    self.cells.unify(member, value);
                }
            }
            Operation::MemoryCopy { to, from, length, .. } => {
                let bytes = self
                    .module
                    .integer(*length)
                    .filter(|bytes| *bytes > 0)
                    .unwrap_or(i64::MAX);
                self.copy(id, *to, *from, bytes);
            }
            Operation::Assembly { operands, .. } => self.assembly(id, own, operands),
            Operation::Call { callee, arguments, .. } => self.call(id, n, own, callee, arguments),
            _ => {}
        }
    }

    /// The cell of a value of this class that is stored at an address: what the cell there holds; an aggregate is
    /// the cell itself.
    fn stored_at(&mut self, address: Cell, class: Class) -> Cell {
        match class {
            Class::Aggregate { .. } => address,
            _ => self.cells.content(address),
        }
    }

    fn store(&mut self, id: FunctionId, address: Value, value: Value, access: &Access) {
        let Some(value) = self.value(id, value) else { return };
        if let Some(address) = self.pointer(id, address) {
            let place = self.stored_at(address, access.class);
            self.cells.unify(place, value);
        }
    }

    fn load_old(&mut self, id: FunctionId, address: Value, own: usize) {
        if self.holds[own]
            && let Some(address) = self.pointer(id, address)
        {
            let old = self.cells.content(address);
            self.set(own, old);
        }
    }

    pub(crate) fn copy(&mut self, id: FunctionId, to: Value, from: Value, bytes: i64) {
        if let (Some(to), Some(from)) = (self.pointer(id, to), self.pointer(id, from)) {
            self.cells.copy(to, from, bytes);
        }
    }

    /// Bytes of the field that a tag names.
    fn extent(&self, tag: TagId) -> i64 {
        let Tag { structure, offset } = self.module[tag];
        let field = self.module[structure]
            .fields
            .iter()
            .find(|field| field.offset == offset);
        field.map_or(i64::MAX, |field| field.size as i64)
    }

    /// Whatever goes in may come out, in values and in memory.
    fn assembly(&mut self, id: FunctionId, own: usize, operands: &[deadheat_ir::AssemblyOperand]) {
        let mut through = self.holds[own].then(|| self.local(own));
        for operand in operands {
            let Some(cell) = self.value(id, operand.value) else {
                continue;
            };
            let cell = match operand.role {
                AssemblyRole::Input => cell,
                AssemblyRole::Reads(size) | AssemblyRole::Writes(size) if size == 0 || size == 8 => {
                    self.cells.content(cell)
                }
                AssemblyRole::Reads(_) | AssemblyRole::Writes(_) => continue,
            };
            match through {
                Some(other) => self.cells.unify(other, cell),
                None => through = Some(cell),
            }
        }
    }

    fn call(&mut self, id: FunctionId, n: usize, own: usize, callee: &Callee, arguments: &[Value]) {
        let Callee::Direct(symbol) = callee else {
            self.indirect.push((id, n));
            return;
        };
        let fresh = self.fresh[symbol.index()] && self.holds[own];
        if fresh {
            self.object(own, Object::Heap(id, n as u32));
        }
        let body = self.module[*symbol].body();
        match (&self.effects[symbol.index()], body) {
            (Some(effect), _) => {
                let effect = effect.clone();
                self.apply(id, n, own, *symbol, &effect, arguments);
            }
            (None, Some(body)) => self.bind(id, own, arguments, body, fresh),
            (None, None) if matches!(self.module[*symbol].kind, SymbolKind::IFunc { .. }) => {
                self.indirect.push((id, n))
            }
            (None, None) => {
                if !self.module.name(*symbol).starts_with("llvm.") {
                    let cells: Vec<Cell> = arguments.iter().filter_map(|value| self.value(id, *value)).collect();
                    self.published.extend(cells);
                }
                if self.holds[own] && !fresh {
                    self.library_return(*symbol, own);
                    // What unseen code gives to one it may give to another.
                    let given = self.library_returns[symbol.index()];
                    self.published.push(given);
                    self.outside.push(given);
                }
            }
        }
    }

    fn library_return(&mut self, symbol: SymbolId, own: usize) {
        if self.library_returns[symbol.index()] == NONE {
            self.library_returns[symbol.index()] = self.cells.node(true);
            self.objects
                .push((self.library_returns[symbol.index()], Object::Library(symbol)));
        }
        self.set(own, self.library_returns[symbol.index()]);
    }

    /// A call of the library.
    fn apply(&mut self, id: FunctionId, n: usize, own: usize, symbol: SymbolId, effect: &Effect, arguments: &[Value]) {
        let argument = |n: u16| arguments.get(n as usize).copied();
        match effect.returns {
            Returns::Argument(n) => {
                if let Some(value) = argument(n) {
                    self.flows(id, value, own);
                }
            }
            Returns::Unknown if self.holds[own] && !self.fresh[symbol.index()] => self.library_return(symbol, own),
            Returns::Unknown | Returns::Fresh | Returns::Nothing => {}
        }
        if let Some(place) = effect
            .fresh_at
            .and_then(argument)
            .and_then(|value| self.pointer(id, value))
        {
            let made = self.cells.node(true);
            self.objects.push((made, Object::Heap(id, n as u32)));
            let content = self.cells.content(place);
            self.cells.unify(content, made);
        }
        if let Some((to, from)) = effect.copies
            && let (Some(to), Some(from)) = (argument(to), argument(from))
        {
            self.copy(id, to, from, i64::MAX);
        }
        for published in effect.publishes.iter().filter_map(|n| argument(*n)) {
            let cell = self.value(id, published);
            self.published.extend(cell);
        }
        if !effect.calls.is_empty() {
            self.handing.push((id, n, symbol));
        }
    }
}
