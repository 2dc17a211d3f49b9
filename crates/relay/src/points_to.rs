//! What points-to analysis knows, for the rest of this crate; and the library as points-to wants it told.

use crate::models::{Model, Models, Returned};
use crate::subject::{Aliasing, Cell};
use deadheat_ir::{FunctionId, SymbolId, Value};
use deadheat_points_to::{Callback, Effect, Library, Passed, PointsTo, Returns};

impl Library for Models {
    fn effect(&self, name: &str) -> Option<Effect> {
        self.get(name).map(effect)
    }
}

fn effect(model: &Model) -> Effect {
    let mut effect = Effect {
        returns: match model.returns {
            Returned::Unknown => Returns::Unknown,
            Returned::Fresh => Returns::Fresh,
            Returned::Argument(n) => Returns::Argument(n),
        },
        fresh_at: model.fresh_at,
        copies: model.copies.map(|(from, to)| (to, from)),
        publishes: model.publishes.clone(),
        ..Effect::default()
    };
    let now = model.calls.iter().map(|c| (c, true));
    for (callback, now) in now.chain(model.registers.iter().map(|c| (c, false))) {
        let passed = |n: &i16| u16::try_from(*n).map_or(Passed::Unknown, Passed::Argument);
        effect.calls.push(Callback {
            function: (callback.function, vec![]),
            arguments: callback.arguments.iter().map(passed).collect(),
            now,
        });
    }
    if let Some(once) = &model.once {
        effect.calls.push(Callback {
            function: (once.function, vec![]),
            arguments: vec![],
            now: true,
        });
    }
    if let Some(creation) = &model.creates {
        let argument = creation.argument.map(Passed::Argument);
        let behind = creation.argument_at.map(Passed::Behind);
        let function = match &creation.function_at {
            Some((n, offsets)) => (*n, offsets.clone()),
            None => (creation.function.unwrap_or_default(), vec![]),
        };
        effect.calls.push(Callback {
            function,
            arguments: argument.or(behind).into_iter().collect(),
            now: false,
        });
    }
    effect
}

/// Points-to as this crate asks for it.
#[derive(Debug)]
pub struct Pointers<'a>(pub &'a PointsTo);

impl Pointers<'_> {
    fn cell(cell: deadheat_points_to::Cell) -> Cell {
        Cell {
            class: cell.node,
            offset: cell.offset.into(),
        }
    }
}

impl Aliasing for Pointers<'_> {
    fn pointee(&self, function: FunctionId, value: Value) -> Option<Cell> {
        self.0.pointee(function, value).map(Pointers::cell)
    }

    fn object(&self, symbol: SymbolId) -> Option<Cell> {
        Some(Pointers::cell(self.0.symbol(symbol)))
    }

    fn targets(&self, function: FunctionId, instruction: usize) -> &[FunctionId] {
        let graph = self.0.call_graph();
        let called = graph.targets(function, instruction);
        match called {
            [] => graph
                .callbacks(function, instruction)
                .first()
                .map_or(&[], |c| &c.targets),
            called => called,
        }
    }

    fn handed(&self, function: FunctionId, instruction: usize) -> Vec<FunctionId> {
        let callbacks = self.0.call_graph().callbacks(function, instruction);
        callbacks.iter().flat_map(|c| c.targets.iter().copied()).collect()
    }

    fn is_shared(&self, class: u32) -> bool {
        self.0.escapes(deadheat_points_to::Cell { node: class, offset: 0 })
    }

    fn is_outside(&self, class: u32) -> bool {
        self.0.is_outside(deadheat_points_to::Cell { node: class, offset: 0 })
    }
}
