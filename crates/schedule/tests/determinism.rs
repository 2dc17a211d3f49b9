//! The same seed gives the same schedule; a recorded schedule replays with its meetings; every policy ends
//! every program.

mod tiny;

use deadheat_schedule::{AnyPolicy, Kind, RacingPair};
use proptest::prelude::*;
use tiny::oracle::conflicting;
use tiny::{Outcome, Program, by_the_paper, pair, run};

fn kinds(seed: u64) -> [Kind; 5] {
    let directed = |switch, postponements| {
        Kind::RaceDirected(deadheat_schedule::Parameters {
            switch,
            postponements,
            ..by_the_paper(seed)
        })
    };
    [
        Kind::Fifo { quantum: 0 },
        Kind::Fifo { quantum: 3 },
        Kind::Random { seed, switch: 200 },
        directed(1024, 100),
        directed(200, 2),
    ]
}

fn once(program: &Program, kind: Kind, pair: &RacingPair) -> Outcome {
    run(program, &mut AnyPolicy::from_plan(kind, pair.clone()), pair)
}

proptest! {
    #[test]
    fn same_seed_same_run_and_its_record_replays(program in tiny::generate::programs(), seed in any::<u64>()) {
        let (first, second) = conflicting(&program).into_iter().next().unwrap_or((0, 0));
        let sides = pair(first, second);
        for kind in kinds(seed) {
            let outcome = once(&program, kind.clone(), &sides);
            prop_assert!(!outcome.hang && !outcome.diverged);
            prop_assert_eq!(&once(&program, kind, &sides), &outcome);
            let replayed = once(&program, Kind::Replay { turns: outcome.turns.clone() }, &sides);
            prop_assert_eq!(replayed, outcome);
        }
    }

    #[test]
    fn a_record_of_another_program_is_flagged_or_ends(
        program in tiny::generate::programs(),
        other in tiny::generate::programs(),
        seed in any::<u64>(),
    ) {
        let sides = RacingPair::default();
        let foreign = once(&other, Kind::Random { seed, switch: 500 }, &sides).turns;
        let outcome = once(&program, Kind::Replay { turns: foreign }, &sides);
        prop_assert!(!outcome.hang);
        // What was followed without a flag is a schedule that its own record gives again.
        let again = once(&program, Kind::Replay { turns: outcome.turns.clone() }, &sides);
        prop_assert_eq!(again.schedule, outcome.schedule);
        prop_assert!(!again.diverged);
    }
}
