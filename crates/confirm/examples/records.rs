//! Prints the records of one `fifo` run of a program: `cargo run -p deadheat-confirm --example records -- ./bank 100`.

use deadheat_confirm::{Program, Stage, StageOptions};
use deadheat_wire::plan::{Mode, Plan, Policy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let name = words.next().ok_or("usage: records PROGRAM ARGS")?;
    let stage = Stage::new(Program::find(&name, words.collect())?, StageOptions::default())?;
    let run = stage.run(&Plan::new(Mode::Schedule, Policy::Fifo))?;
    println!("{:#x?}\n{:?} in {:?}", run.records, run.end, run.elapsed);
    Ok(())
}
