//! The static stage: modules read, joined to programs, and analysed.
//!
//! Executables named together are separate programs: each is joined with whatever else is named that is no
//! executable (shared objects, archives, objects). Where no executable is named, all is one program.

use deadheat_bitcode::{Counts, InputKind, ReadError, Reading, Skipped};
use deadheat_ir::{Instruction, LinkReport, Module, Operation, Program};
use std::path::PathBuf;

pub use deadheat_bitcode::{Options as ReadOptions, worker_in};
pub use deadheat_relay::{Models, Options, Remembered};
pub use deadheat_wire::lowering::Settings as ReadSettings;

/// What was read, as programs.
#[derive(Debug)]
pub struct Linked {
    /// The programs.
    pub programs: Vec<ScannedProgram>,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// What reading took.
    pub counts: Counts,
}

/// A program to be analysed.
#[derive(Debug)]
pub struct ScannedProgram {
    /// The executable; none if none was named.
    pub path: Option<PathBuf>,
    /// Its modules, joined.
    pub program: Program,
}

/// Reads what is named and joins it.
///
/// # Errors
/// If nothing at all can be read.
pub fn read(inputs: &[PathBuf], databases: &[PathBuf], options: &ReadOptions) -> Result<Linked, ReadError> {
    let reading = deadheat_bitcode::read(inputs, databases, options)?;
    Ok(link(reading))
}

fn link(reading: Reading) -> Linked {
    let Reading {
        inputs,
        skipped,
        counts,
    } = reading;
    let (executables, rest): (Vec<_>, Vec<_>) = inputs
        .into_iter()
        .partition(|input| input.kind == InputKind::Executable);
    let shared: Vec<Module> = rest.into_iter().flat_map(|input| input.modules).collect();
    let mut programs = Vec::new();
    let last = executables.len().saturating_sub(1);
    let mut shared = Some(shared);
    for (n, input) in executables.into_iter().enumerate() {
        let mut modules = input.modules;
        let others = if n == last { shared.take() } else { shared.clone() };
        modules.extend(others.unwrap_or_default());
        programs.push(ScannedProgram {
            path: Some(input.path),
            program: Program::link(modules),
        });
    }
    if let Some(modules) = shared.filter(|modules| !modules.is_empty()) {
        programs.push(ScannedProgram {
            path: None,
            program: Program::link(modules),
        });
    }
    Linked {
        programs,
        skipped,
        counts,
    }
}

/// What a program consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Compilation units.
    pub units: usize,
    /// Functions with a body.
    pub functions: usize,
    /// Source lines that some instruction stands on.
    pub lines: usize,
    /// Instructions.
    pub instructions: usize,
    /// Loads, stores, atomic operations and memory copies.
    pub accesses: usize,
    /// Of the loads and stores, those whose field is known.
    pub tagged: usize,
    /// Calls of known functions.
    pub calls: usize,
    /// Calls through pointers.
    pub indirect: usize,
    /// Inline assembly.
    pub assembly: usize,
}

impl Size {
    /// Counts.
    pub fn of(module: &Module) -> Size {
        let mut size = Size {
            units: module.units.len(),
            functions: module.functions.len(),
            ..Size::default()
        };
        let mut lines: Vec<(u32, u32)> = module
            .locations
            .iter()
            .map(|l| (l.file.number(), l.line))
            .filter(|(_, line)| *line > 0)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        size.lines = lines.len();
        module
            .functions
            .iter()
            .flat_map(|f| &f.instructions)
            .for_each(|i| size.count(i));
        size
    }

    fn count(&mut self, instruction: &Instruction) {
        self.instructions += 1;
        match &instruction.operation {
            Operation::Load { access, .. }
            | Operation::Store { access, .. }
            | Operation::ReadModifyWrite { access, .. }
            | Operation::CompareExchange { access, .. } => {
                self.accesses += 1;
                self.tagged += usize::from(access.tag.is_some());
            }
            Operation::MemoryCopy { .. } | Operation::MemoryFill { .. } => self.accesses += 1,
            Operation::Call {
                callee: deadheat_ir::Callee::Direct(_),
                ..
            } => self.calls += 1,
            Operation::Call { .. } => self.indirect += 1,
            Operation::Assembly { .. } => self.assembly += 1,
            _ => {}
        }
    }
}

/// A line or two about linking, where it met something.
pub fn link_notes(report: &LinkReport, module: &Module) -> Vec<String> {
    let mut notes = Vec::new();
    const SHOWN: usize = 5;
    for duplicate in report.duplicates.iter().take(SHOWN) {
        let unit = |n: usize| module.units.get(n).map_or("?", |unit| unit.source.as_str());
        let (kept, dropped) = (unit(duplicate.kept), unit(duplicate.dropped));
        notes.push(format!(
            "{} is defined twice: that of {kept} stands, that of {dropped} is left out",
            duplicate.name
        ));
    }
    if report.duplicates.len() > SHOWN {
        notes.push(format!(
            "and {} more names are defined twice",
            report.duplicates.len() - SHOWN
        ));
    }
    if report.broken_aliases > 0 {
        notes.push(format!("{} aliases lead nowhere", report.broken_aliases));
    }
    notes
}
