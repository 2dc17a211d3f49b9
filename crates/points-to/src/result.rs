//! What the analysis found, for looking up.

use crate::call_graph::CallGraph;
use crate::cells::{Cell, Losses};
use crate::constraints::{Analysis, NONE};
use crate::fresh::Summaries;
use crate::library::Library;
use crate::{Limits, Statistics};
use deadheat_ir::{Constant, FunctionId, Program, SymbolId, SymbolKind, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// A variable or function.
    Symbol(SymbolId),
    /// What an alloca makes: function, instruction.
    Frame(FunctionId, u32),
    /// What a call allocates: function, instruction.
    Heap(FunctionId, u32),
    /// What a library function returns that is not known further.
    Library(SymbolId),
}

/// What values of a program point to. Cells are those of roots: equal cells, and only those, may be one address.
#[derive(Clone, Debug)]
pub struct PointsTo {
    base: Vec<u32>,
    values: Vec<Cell>,
    symbols: Vec<Cell>,
    /// Roots' contents, by offset.
    fields: FxHashMap<u32, Box<[(i32, Cell)]>>,
    objects: FxHashMap<u32, Vec<(i32, Object)>>,
    escaped: Vec<bool>,
    outside: FxHashSet<u32>,
    thread_local: Vec<bool>,
    constants: Vec<Option<Cell>>,
    call_graph: CallGraph,
    summaries: Summaries,
    statistics: Statistics,
}

impl PointsTo {
    /// Analyses a program.
    pub fn analyse(program: &Program, library: &dyn Library, limits: &Limits) -> PointsTo {
        let mut analysis = Analysis::new(&program.module, library, limits);
        analysis.generate();
        let call_graph = analysis.resolve();
        PointsTo::freeze(analysis, call_graph)
    }

    fn freeze(mut analysis: Analysis, call_graph: CallGraph) -> PointsTo {
        let module = analysis.module;
        let constants = module
            .constants
            .iter()
            .map(|constant| match constant {
                Constant::Address { symbol, offset, .. } => match module[*symbol].kind {
                    SymbolKind::Function { .. } | SymbolKind::IFunc { .. } => None,
                    _ => Some(analysis.symbols[symbol.index()].moved(*offset)),
                },
                _ => None,
            })
            .collect::<Vec<_>>();
        let cells = &mut analysis.cells;
        let mut find = |cell: Cell| if cell == NONE { NONE } else { cells.find(cell) };
        let values = analysis.values.iter().map(|cell| find(*cell)).collect();
        let symbols: Vec<Cell> = analysis.symbols.iter().map(|cell| find(*cell)).collect();
        let constants = constants.into_iter().map(|cell| cell.map(&mut find)).collect();
        let mut objects: FxHashMap<u32, Vec<(i32, Object)>> = FxHashMap::default();
        for (cell, object) in &analysis.objects {
            let is_code =
                matches!(object, Object::Symbol(id) if matches!(module[*id].kind, SymbolKind::Function { .. }));
            if !is_code {
                let Cell { node, offset } = find(*cell);
                objects.entry(node).or_default().push((offset, *object));
            }
        }
        let mut fields: FxHashMap<u32, Box<[(i32, Cell)]>> = FxHashMap::default();
        for node in 0..cells.count() as u32 {
            let list = cells.fields(node).to_vec();
            if !list.is_empty() {
                fields.insert(
                    node,
                    list.into_iter()
                        .map(|(offset, content)| (offset, cells.find(content)))
                        .collect(),
                );
            }
        }
        let nodes = cells.count();
        let losses: Losses = cells.losses();
        let mut statistics = analysis.statistics;
        statistics.nodes = nodes;
        statistics.losses = losses;
        statistics.objects = objects.values().map(Vec::len).sum();
        statistics.classes = objects.len();
        statistics.largest = objects.values().map(Vec::len).max().unwrap_or(0);
        let published: Vec<Cell> = analysis
            .published
            .iter()
            .map(|cell| analysis.cells.find(*cell))
            .collect();
        let mut thread_local = vec![false; nodes];
        let mut roots = published;
        for (id, symbol) in module.symbols() {
            let cell = symbols[id.index()];
            match symbol.kind {
                SymbolKind::Variable { thread_local: true, .. } => thread_local[cell.node as usize] = true,
                SymbolKind::Variable { .. } => roots.push(cell),
                _ => {}
            }
        }
        let outside = std::mem::take(&mut analysis.outside);
        let outside = outside.iter().map(|cell| analysis.cells.find(*cell).node).collect();
        let escaped = closure(nodes, roots, &fields);
        PointsTo {
            base: analysis.base,
            values,
            symbols,
            fields,
            objects,
            escaped,
            outside,
            thread_local,
            constants,
            call_graph,
            summaries: analysis.summaries,
            statistics,
        }
    }

    /// The cell that a value points to; none for values that hold no address, and for code.
    pub fn pointee(&self, function: FunctionId, value: Value) -> Option<Cell> {
        match value {
            Value::Constant(id) => self.constants[id.index()],
            Value::Local(local) => {
                let cell = self.values[self.base[function.index()] as usize + local.index()];
                (cell != NONE).then_some(cell)
            }
        }
    }

    /// The cell at which a symbol's object begins.
    pub fn symbol(&self, symbol: SymbolId) -> Cell {
        self.symbols[symbol.index()]
    }

    /// What the address stored in a cell points to; none if no address is stored there.
    pub fn content(&self, cell: Cell) -> Option<Cell> {
        let fields = self.fields.get(&cell.node)?;
        fields
            .binary_search_by_key(&cell.offset, |field| field.0)
            .ok()
            .map(|at| fields[at].1)
    }

    /// The addresses stored in a node, by offset.
    pub fn contents(&self, node: u32) -> &[(i32, Cell)] {
        self.fields.get(&node).map_or(&[], |fields| fields)
    }

    /// The objects in a node, each with the offset at which it begins; in order of their making.
    pub fn objects(&self, node: u32) -> &[(i32, Object)] {
        self.objects.get(&node).map_or(&[], Vec::as_slice)
    }

    /// May another thread reach it: is it reached from a variable that all threads share, or was its address given to
    /// code that is not seen, or to a callback that runs later?
    pub fn escapes(&self, cell: Cell) -> bool {
        self.escaped[cell.node as usize]
    }

    /// Is it an object that code made which is not seen, and nothing else? Two such may be one, whatever gave them.
    pub fn is_outside(&self, cell: Cell) -> bool {
        let made_there = |(_, object): &(i32, Object)| matches!(object, Object::Library(_));
        self.outside.contains(&cell.node) && self.objects(cell.node).iter().all(made_there)
    }

    /// Is it, among others, a thread's own variable?
    pub fn may_be_thread_local(&self, cell: Cell) -> bool {
        self.thread_local[cell.node as usize]
    }

    /// Who calls whom.
    pub fn call_graph(&self) -> &CallGraph {
        &self.call_graph
    }

    /// Which functions return fresh objects, which keep their parameters to themselves.
    pub fn summaries(&self) -> &Summaries {
        &self.summaries
    }

    /// Counts.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }
}

/// Nodes reached from cells by addresses stored in them.
fn closure(nodes: usize, roots: Vec<Cell>, fields: &FxHashMap<u32, Box<[(i32, Cell)]>>) -> Vec<bool> {
    let mut reached = vec![false; nodes];
    let mut work = roots;
    while let Some(cell) = work.pop() {
        if !std::mem::replace(&mut reached[cell.node as usize], true) {
            work.extend(
                fields
                    .get(&cell.node)
                    .into_iter()
                    .flat_map(|fields| fields.iter().map(|(_, to)| *to)),
            );
        }
    }
    reached
}
