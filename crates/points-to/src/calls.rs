//! Calls whose target a pointer decides: resolved again and again until nothing new is found.

use crate::call_graph::{CallGraph, ResolvedCallback};
use crate::cells::Cell;
use crate::constraints::Analysis;
use crate::library::{Callback, Passed};
use deadheat_ir::{Callee, Class, FunctionId, Module, Operation, SignatureId, SymbolKind, Value};
use std::rc::Rc;

/// A call through a pointer.
struct Site {
    function: FunctionId,
    instruction: usize,
    /// Targets that were bound, in order.
    targets: Vec<FunctionId>,
    /// The field that names the targets, and nothing else does.
    by_field: bool,
    mistyped: usize,
    cut: usize,
}

/// A callback of a library call.
struct Handed {
    function: FunctionId,
    instruction: usize,
    number: usize,
    callback: Callback,
    targets: Vec<FunctionId>,
}

impl Analysis<'_> {
    /// Resolves calls and follows copies until nothing changes, or the rounds are used up; gives the call graph.
    pub(crate) fn resolve(&mut self) -> CallGraph {
        let mut sites: Vec<Site> = std::mem::take(&mut self.indirect)
            .into_iter()
            .map(|site| self.site(site))
            .collect();
        let mut handed: Vec<Handed> = Vec::new();
        for (function, instruction, symbol) in std::mem::take(&mut self.handing) {
            let callbacks = self.effects[symbol.index()].iter().flat_map(|effect| &effect.calls);
            handed.extend(callbacks.enumerate().map(|(number, callback)| Handed {
                function,
                instruction,
                number,
                callback: callback.clone(),
                targets: Vec::new(),
            }));
        }
        let mut changed = self.rounds(&mut sites, &mut handed);
        // Where the pointer leads nowhere, what is stored in its field is better than nothing.
        let mut added = false;
        for site in sites.iter_mut().filter(|site| site.targets.is_empty()) {
            let (stored, _) = self.stored_in_field(site);
            added |= self.add(site, &stored);
            site.by_field = !site.targets.is_empty();
        }
        if added {
            changed = self.rounds(&mut sites, &mut handed);
        }
        self.statistics.unfinished = changed;
        self.graph(&sites, handed)
    }

    /// Rounds until nothing changes; says whether they were used up before.
    fn rounds(&mut self, sites: &mut [Site], handed: &mut [Handed]) -> bool {
        let mut changed = true;
        while changed && self.statistics.rounds < self.limits.rounds {
            self.statistics.rounds += 1;
            self.fitting.clear();
            changed = self.cells.settle();
            for site in sites.iter_mut() {
                changed |= self.resolve_site(site);
            }
            for callback in handed.iter_mut() {
                changed |= self.resolve_callback(callback);
            }
        }
        changed
    }

    /// Prepares a site: where a closed field names its targets, they are bound at once.
    fn site(&mut self, (function, instruction): (FunctionId, usize)) -> Site {
        let mut site = Site {
            function,
            instruction,
            targets: Vec::new(),
            by_field: false,
            mistyped: 0,
            cut: 0,
        };
        if let (stored, true) = self.stored_in_field(&site) {
            self.add(&mut site, &stored);
            site.by_field = !site.targets.is_empty();
        }
        site
    }

    fn stored_in_field(&self, site: &Site) -> (Vec<FunctionId>, bool) {
        let function = &self.module[site.function];
        let Operation::Call {
            callee: Callee::Indirect(Value::Local(local)),
            ..
        } = function.instructions[site.instruction].operation
        else {
            return (Vec::new(), false);
        };
        let tag = match function.definition(local).map(|instruction| &instruction.operation) {
            Some(Operation::Load { access, .. }) => access.tag,
            _ => None,
        };
        let (stored, closed) = tag.map_or((&[][..], false), |tag| self.fields.stored(tag));
        (stored.to_vec(), closed)
    }

    fn resolve_site(&mut self, site: &mut Site) -> bool {
        if site.by_field {
            return false;
        }
        let operation = &self.module[site.function].instructions[site.instruction].operation;
        let Operation::Call { callee, signature, .. } = operation else {
            return false;
        };
        let signature = *signature;
        let cell = match callee {
            Callee::Indirect(value) => self.value(site.function, *value),
            // An ifunc: what its resolver returns.
            Callee::Direct(symbol) => match self.module[*symbol].kind {
                SymbolKind::IFunc {
                    resolver: Some(resolver),
                } => self.module[resolver].body().map(|body| self.return_cell(body)),
                _ => None,
            },
        };
        let Some(cell) = cell else { return false };
        let fitting = self.fitting(cell, signature);
        self.bind_new(site, &fitting)
    }

    /// The functions in a cell's node that calls of this type may call. Many calls ask the same of a large node: it is
    /// worked out once a round.
    fn fitting(&mut self, cell: Cell, signature: SignatureId) -> Rc<Fitting> {
        let node = self.cells.find(cell).node;
        if let Some(known) = self.fitting.get(&(node, signature)) {
            return Rc::clone(known);
        }
        let found: Vec<FunctionId> = self.cells.functions(cell).iter().map(|n| FunctionId::new(*n)).collect();
        let fitting = Rc::new(Fitting::of(self.module, signature, &found));
        self.fitting.insert((node, signature), Rc::clone(&fitting));
        fitting
    }

    /// Binds those of some functions whose types agree.
    fn add(&mut self, site: &mut Site, found: &[FunctionId]) -> bool {
        let Operation::Call { signature, .. } = self.module[site.function].instructions[site.instruction].operation
        else {
            return false;
        };
        let fitting = Fitting::of(self.module, signature, found);
        self.bind_new(site, &fitting)
    }

    /// Binds the targets that are new.
    fn bind_new(&mut self, site: &mut Site, fitting: &Fitting) -> bool {
        let module = self.module;
        let Operation::Call { arguments, .. } = &module[site.function].instructions[site.instruction].operation else {
            return false;
        };
        site.mistyped = fitting.mistyped;
        let mut changed = false;
        let mut cut = 0;
        for target in &fitting.functions {
            let Err(at) = site.targets.binary_search(target) else {
                continue;
            };
            if site.targets.len() >= self.limits.targets {
                cut += 1;
                continue;
            }
            site.targets.insert(at, *target);
            changed = true;
            let own = self.own(site.function, site.instruction);
            self.bind(site.function, own, arguments, *target, false);
        }
        site.cut = cut;
        changed
    }

    fn own(&self, function: FunctionId, instruction: usize) -> usize {
        self.base[function.index()] as usize + self.module[function].local_of(instruction).index()
    }

    /// Arguments flow to parameters, what is returned to the call's result. The result of a function that returns
    /// fresh objects is an object of its own, with the contents that the function gave it.
    pub(crate) fn bind(
        &mut self,
        caller: FunctionId,
        own: usize,
        arguments: &[Value],
        target: FunctionId,
        fresh: bool,
    ) {
        let function = &self.module[target];
        let first = self.base[target.index()] as usize;
        for (n, value) in arguments.iter().enumerate() {
            if n >= function.parameters as usize {
                // What follows in a variadic call is fetched in ways that are not followed.
                let cell = self.value(caller, *value);
                self.published.extend(cell);
                continue;
            }
            let to = first + n;
            let holds = self.holds[to] || self.value(caller, *value).is_some();
            if holds {
                let cell = match value {
                    Value::Constant(_) => self.value(caller, *value),
                    Value::Local(local) => Some(self.local(self.base[caller.index()] as usize + local.index())),
                };
                if let Some(cell) = cell {
                    self.set(to, cell);
                }
            }
        }
        if self.holds[own] {
            let returned = self.return_cell(target);
            if fresh {
                let made = self.local(own);
                self.cells.copy(made, returned, i64::MAX);
            } else {
                self.set(own, returned);
            }
        }
    }

    fn resolve_callback(&mut self, handed: &mut Handed) -> bool {
        let module = self.module;
        let Operation::Call { arguments, .. } = &module[handed.function].instructions[handed.instruction].operation
        else {
            return false;
        };
        let (number, offsets) = &handed.callback.function;
        let Some(mut cell) = arguments
            .get(*number as usize)
            .and_then(|value| self.value(handed.function, *value))
        else {
            return false;
        };
        for offset in offsets {
            cell = self.cells.content(cell.moved(*offset));
        }
        let mut changed = false;
        let found: Vec<FunctionId> = self.cells.functions(cell).iter().map(|n| FunctionId::new(*n)).collect();
        for target in found {
            let Err(at) = handed.targets.binary_search(&target) else {
                continue;
            };
            if handed.targets.len() >= self.limits.targets {
                continue;
            }
            handed.targets.insert(at, target);
            changed = true;
            self.pass(handed, arguments, target);
        }
        changed
    }

    /// What the library passes to a callback.
    fn pass(&mut self, handed: &Handed, arguments: &[Value], target: FunctionId) {
        let parameters = self.module[target].parameters as usize;
        for (n, passed) in handed.callback.arguments.iter().enumerate().take(parameters) {
            let cell = match passed {
                Passed::Unknown => continue,
                Passed::Argument(of) | Passed::Behind(of) => arguments
                    .get(*of as usize)
                    .and_then(|value| self.value(handed.function, *value)),
            };
            let Some(mut cell) = cell else { continue };
            if matches!(passed, Passed::Behind(_)) {
                cell = self.cells.content(cell);
            }
            if !handed.callback.now {
                self.published.push(cell);
            }
            self.set(self.base[target.index()] as usize + n, cell);
        }
    }

    fn graph(&mut self, sites: &[Site], handed: Vec<Handed>) -> CallGraph {
        let mut graph = CallGraph::new(self.module.functions.len());
        for (id, function) in self.module.functions() {
            for (n, instruction) in function.instructions.iter().enumerate() {
                if let Operation::Call {
                    callee: Callee::Direct(symbol),
                    ..
                } = instruction.operation
                    && let (None, Some(body)) = (&self.effects[symbol.index()], self.module[symbol].body())
                {
                    graph.call(id, n, &[body]);
                }
            }
        }
        let statistics = &mut self.statistics;
        for site in sites {
            graph.call(site.function, site.instruction, &site.targets);
            statistics.indirect += 1;
            statistics.by_field += usize::from(site.by_field);
            statistics.unresolved += usize::from(site.targets.is_empty());
            statistics.targets += site.targets.len();
            statistics.cut += site.cut;
            statistics.mistyped += site.mistyped;
        }
        for handed in handed {
            statistics.callbacks += 1;
            statistics.unresolved_callbacks += usize::from(handed.targets.is_empty());
            let Handed {
                number,
                callback,
                targets,
                ..
            } = handed;
            graph.callback(
                handed.function,
                handed.instruction,
                ResolvedCallback {
                    number,
                    now: callback.now,
                    targets,
                },
            );
        }
        graph.finish();
        graph
    }
}

/// Functions that calls of one type may call.
pub(crate) struct Fitting {
    functions: Vec<FunctionId>,
    /// How many of those looked at it may not.
    mistyped: usize,
}

impl Fitting {
    fn of(module: &Module, signature: SignatureId, found: &[FunctionId]) -> Fitting {
        let fits = |target: &FunctionId| agrees(module, signature, *target);
        let functions: Vec<FunctionId> = found.iter().copied().filter(fits).collect();
        let mistyped = found.len() - functions.len();
        Fitting { functions, mistyped }
    }
}

/// May a call of this type call this function? Numbers of parameters agree, and so do their classes where both are
/// told; a result that is not used may be anything.
fn agrees(module: &Module, call: SignatureId, target: FunctionId) -> bool {
    let SymbolKind::Function { signature, .. } = module[module[target].symbol].kind else {
        return false;
    };
    if signature == call {
        return true;
    }
    let (call, target) = (&module[call], &module[signature]);
    let counts = match (call.variadic, target.variadic) {
        (false, false) => call.parameters.len() == target.parameters.len(),
        (_, true) => call.parameters.len() >= target.parameters.len(),
        // An unprototyped call.
        (true, false) => call.parameters.len() <= target.parameters.len(),
    };
    let same =
        |(a, b): (&Class, &Class)| a == b || matches!((a, b), (Class::Aggregate { .. }, Class::Aggregate { .. }));
    let result = call.result == Class::Void || same((&call.result, &target.result));
    counts && result && call.parameters.iter().zip(&target.parameters).all(same)
}
