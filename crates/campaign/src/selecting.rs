//! From measured inputs to a selection, and that in the words of the report.

use crate::left_out::LeftOut;
use crate::measuring::{Function, Inputs};
use crate::site_index::SiteIndex;
use deadheat_confirm::Program;
use deadheat_model::SiteId;
use deadheat_pairs::Reason;
use deadheat_pairs::{Measured, Selection};
use deadheat_report::finding;
use deadheat_report::selection::{FunctionName, NotMeasured, SelectedInput, SelectionReport, Unmeasured, VERSION};

/// What the chosen inputs must cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// Concurrent function pairs, as in the paper.
    Functions,
    /// These, the statements of concurrent functions, and the pairs of functions that were inlined into them.
    #[default]
    Statements,
}

/// Chooses inputs and functions.
pub fn select(inputs: &Inputs, granularity: Granularity) -> Selection {
    let measured = inputs.inputs.iter().map(|one| Measured {
        pairs: one.pairs.clone(),
        parts: match granularity {
            Granularity::Functions => Vec::new(),
            Granularity::Statements => one.parts.clone(),
        },
        cost: one.measured.as_ref().map_or(0, |m| m.steps),
    });
    deadheat_pairs::select(&measured.collect::<Vec<_>>())
}

/// The selection as it is told.
pub fn report(base: &Program, inputs: &Inputs, selection: &Selection) -> SelectionReport {
    let lossy = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
    let mut selected: Vec<SelectedInput> = inputs
        .inputs
        .iter()
        .zip(&selection.growth)
        .map(|(one, growth)| SelectedInput {
            id: one.input.id(),
            args: one.program.args.iter().map(|a| lossy(a)).collect(),
            seconds: one.measured.as_ref().map_or(0.0, |m| m.seconds),
            functions: one.functions.len() as u32,
            pairs: growth.pairs as u64,
            new: growth.new as u64,
            alone: growth.alone as u64,
            chosen: None,
            covers: 0,
            statements: one.parts.len() as u64,
            covers_statements: 0,
            watched: Vec::new(),
            measured: one.measured.is_some(),
            known: one.known,
            left_out: one.measured.as_ref().map_or(0, |m| m.left_out),
            notices: one.notices.clone(),
        })
        .collect();
    for (place, chosen) in selection.chosen.iter().enumerate() {
        let input = &mut selected[chosen.input];
        input.chosen = Some(place as u32 + 1);
        input.covers = chosen.pairs.len() as u64;
        input.covers_statements = chosen.parts as u64;
        input.watched.clone_from(&chosen.functions);
    }
    let growth = selection.growth.iter().scan(0, |sum, g| {
        *sum += g.new as u64;
        Some(*sum)
    });
    let mut notices = inputs.left_out.notices.clone();
    let measured = || inputs.inputs.iter().filter_map(|one| one.measured.as_ref());
    if !inputs.left_out.functions.is_empty() && measured().next().is_some() && measured().all(|m| m.left_out == 0) {
        notices.push("functions that need no measuring were measured all the same: their pairs are their own".into());
    }
    let failed = inputs.inputs.iter().filter(|one| one.measured.is_none()).count();
    if failed > 0 {
        notices.push(format!(
            "{failed} inputs could not be measured: detection leaves them out"
        ));
    }
    SelectionReport {
        version: VERSION,
        program: finding::Program {
            file: base.file.to_string_lossy().into_owned(),
            args: base.args.iter().map(|a| lossy(a)).collect(),
            hash: inputs
                .inputs
                .first()
                .map_or_else(String::new, |one| format!("{:016x}", one.input.program)),
        },
        functions: inputs.functions.iter().map(named).collect(),
        unmeasured: not_measured(base, &inputs.left_out),
        pairs: selection.all.iter().collect(),
        inputs: selected,
        growth: growth.collect(),
        runs: inputs.runs,
        seconds: inputs.seconds,
        against: None,
        notices,
    }
}

fn named(function: &Function) -> FunctionName {
    FunctionName {
        name: function.name.clone(),
        file: function.file.clone(),
        line: function.line,
    }
}

/// Which functions of the program's file need not be measured, and why.
fn not_measured(base: &Program, left_out: &LeftOut) -> NotMeasured {
    let index = SiteIndex::of_paths(&[base.file.to_string_lossy().into_owned()]);
    let name = |index_of: &u32| {
        named(&index.function(SiteId {
            module: 0,
            index: *index_of,
        }))
    };
    let told = left_out.functions.iter().map(|(own, reason)| Unmeasured {
        function: name(own),
        reason: match reason {
            Reason::OwnStack => "own-stack",
            Reason::OneThread => "one-thread",
            Reason::Inherits(_) => "inherits",
        }
        .into(),
        from: reason.sources().iter().map(name).collect(),
    });
    NotMeasured {
        of: left_out.measurable as u32,
        loop_assumption: left_out.loops,
        functions: if left_out.functions.is_empty() {
            Vec::new()
        } else {
            told.collect()
        },
    }
}
