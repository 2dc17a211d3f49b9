//! Tiny concurrent programs, run statement by statement under a policy, or through all interleavings.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

pub mod generate;
pub mod machine;
pub mod oracle;
pub mod run;

pub use machine::{Line, Machine, Program, Statement, program};
pub use oracle::co_enabled;
pub use run::{Outcome, run};

use deadheat_model::SiteId;
use deadheat_schedule::{AnyPolicy, Kind, PATIENCE, Parameters, RacingPair};

/// The site of a statement.
pub fn site(number: u32) -> SiteId {
    SiteId {
        module: 0,
        index: number,
    }
}

/// The pair of two statements.
pub fn pair(first: u32, second: u32) -> RacingPair {
    RacingPair::new(vec![site(first)], vec![site(second)])
}

/// The paper's algorithm: a walk that picks at random at every statement.
pub fn by_the_paper(seed: u64) -> Parameters {
    Parameters {
        seed,
        switch: 1024,
        postponements: 100,
        patience: PATIENCE,
        flip: None,
        last: None,
    }
}

/// Runs the program directed at a pair.
pub fn directed(program: &Program, pair: &RacingPair, parameters: Parameters) -> Outcome {
    run(
        program,
        &mut AnyPolicy::from_plan(Kind::RaceDirected(parameters), pair.clone()),
        pair,
    )
}
