//! From measured inputs to a selection, and that in the words of the report.

use crate::measuring::Inputs;
use deadheat_confirm::Program;
use deadheat_pairs::{Measured, Selection};
use deadheat_report::finding;
use deadheat_report::selection::{FunctionName, SelectedInput, SelectionReport, VERSION};

/// Chooses inputs and functions.
pub fn select(inputs: &Inputs) -> Selection {
    let measured = inputs.inputs.iter().map(|one| Measured {
        pairs: one.pairs.clone(),
        cost: one.measured.as_ref().map_or(0.0, |m| m.seconds),
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
            watched: Vec::new(),
            measured: one.measured.is_some(),
            known: one.known,
            notices: one.notices.clone(),
        })
        .collect();
    for (place, chosen) in selection.chosen.iter().enumerate() {
        let input = &mut selected[chosen.input];
        input.chosen = Some(place as u32 + 1);
        input.covers = chosen.pairs.len() as u64;
        input.watched.clone_from(&chosen.functions);
    }
    let growth = selection.growth.iter().scan(0, |sum, g| {
        *sum += g.new as u64;
        Some(*sum)
    });
    let mut notices = Vec::new();
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
        functions: inputs
            .functions
            .iter()
            .map(|f| FunctionName {
                name: f.name.clone(),
                file: f.file.clone(),
                line: f.line,
            })
            .collect(),
        pairs: selection.all.iter().collect(),
        inputs: selected,
        growth: growth.collect(),
        runs: inputs.runs,
        seconds: inputs.seconds,
        against: None,
        notices,
    }
}
