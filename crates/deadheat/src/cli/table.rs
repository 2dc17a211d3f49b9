//! `table`: hunts in each program of a list, told in a line each.

use super::{arguments, failed, hunting, misused};
use deadheat_campaign::confirm::Program;
use deadheat_campaign::input::Input;
use deadheat_campaign::report::exit;
use deadheat_campaign::report::table::{Row, Table, VERSION};
use deadheat_campaign::{Extent, Hunt, inputs};
use std::io::Write;
use std::process::ExitCode;

/// `deadheat table`.
pub fn table(arguments: arguments::Table) -> ExitCode {
    if arguments.runs.input.is_some() || arguments.runs.stdin.is_some() {
        return misused(&"a list names each program's own input: stdin=FILE before its name");
    }
    let programs = match inputs::programs(&arguments.list) {
        Ok(programs) => programs,
        Err(error) => return misused(&error),
    };
    let mut table = Table {
        version: VERSION,
        rows: Vec::new(),
    };
    let (mut status, mut interrupted) = (exit::NOTHING, false);
    let all = programs.len();
    for (n, program) in programs.into_iter().enumerate() {
        let (name, program) = match program {
            Ok(program) => (words(&program), Ok(program)),
            Err(missing) => (missing.name, Err(missing.why)),
        };
        if interrupted {
            table.rows.push(refused(name, "interrupted before it".into()));
            status = exit::FAILED;
            continue;
        }
        if !arguments.quiet {
            anstream::eprintln!("deadheat: {} of {all}: {name}", n + 1);
        }
        let row = match program.and_then(|program| one(&arguments, program)) {
            Ok(hunt) => {
                interrupted = hunt.interrupted;
                Row::of(name, &hunt.report, hunt.trouble)
            }
            Err(why) => refused(name, why),
        };
        let now = match &row {
            row if row.runs == 0 => exit::FAILED,
            row if row.real > 0 => exit::FOUND,
            _ => exit::NOTHING,
        };
        status = status.max(now);
        table.rows.push(row);
    }
    let text = match arguments.format.as_str() {
        "json" => table.json(),
        "markdown" => table.markdown(),
        _ => table.text(),
    };
    let written = match &arguments.output {
        Some(path) => std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display())),
        None => match std::io::stdout().write_all(text.as_bytes()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.to_string()),
            _ => Ok(()),
        },
    };
    match written {
        Ok(()) => ExitCode::from(status),
        Err(error) => failed(&error),
    }
}

fn one(arguments: &arguments::Table, program: Program) -> Result<Hunt, String> {
    let options = hunting::options(Extent::Hunt, Some(arguments.budget), &arguments.runs, arguments.quiet);
    let mut options = options.map_err(|refusal| match refusal {
        hunting::Refusal::Usage(text) | hunting::Refusal::Failed(text) => text,
    })?;
    options.plain = arguments.plain;
    deadheat_campaign::hunt::hunt(program, &options).map_err(|e| e.to_string())
}

fn refused(program: String, why: String) -> Row {
    Row {
        program,
        trouble: Some(why),
        ..Row::default()
    }
}

/// The program's name and arguments.
fn words(program: &Program) -> String {
    Input::of(program, None).map_or_else(|_| program.name.to_string_lossy().into_owned(), |input| input.command())
}
