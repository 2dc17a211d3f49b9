//! Random programs under random schedules: each run's pairs are those of its complete log, repeated runs agree, and
//! functions that are left out have the pairs that they would have been measured with.

mod log;

use deadheat_detect::Limits;
use deadheat_pairs::{PairSet, inherited, pairs};
use log::program::program;
use log::{Event, brute_force, grouped};
use proptest::prelude::*;

fn measured(log: &[(u32, Event)]) -> PairSet {
    let spans = grouped(log, Limits::default());
    assert_eq!((spans.widened, spans.dropped), (0, 0));
    pairs(&spans)
}

fn list(pairs: &PairSet) -> Vec<(u32, u32)> {
    pairs.iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pairs_are_those_of_the_complete_log(program in program(true), schedule in proptest::collection::vec(any::<u8>(), 1..40)) {
        let (log, _) = program.execution(&schedule);
        prop_assume!(log.len() < 900);
        prop_assert_eq!(list(&measured(&log)), list(&brute_force(&log)), "{:?}", log);
    }

    /// What orders threads here does so in every schedule; locks do not order.
    #[test]
    fn repeated_runs_agree(program in program(false), schedules in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 3)) {
        let runs: Vec<_> = schedules.iter().map(|s| program.execution(s)).collect();
        // Threads that wait for each other's locks are in some schedules only.
        prop_assume!(runs.iter().all(|(_, ended)| *ended));
        let all: Vec<_> = runs.iter().map(|(log, _)| list(&measured(log))).collect();
        prop_assert_eq!(&all[0], &all[1]);
        prop_assert_eq!(&all[0], &all[2]);
    }

    #[test]
    fn what_is_left_out_has_the_pairs_that_it_would_have_had(program in program(true), schedule in proptest::collection::vec(any::<u8>(), 1..40)) {
        let (log, _) = program.execution(&schedule);
        let heirs = program.heirs();
        let left_out = |event: &Event| matches!(event, Event::Enter(f) | Event::Exit(f) if heirs.contains_key(f));
        let rest: Vec<(u32, Event)> = log.iter().filter(|(_, event)| !left_out(event)).copied().collect();
        let (full, found) = (measured(&log), inherited(&measured(&rest), &heirs));
        prop_assert_eq!(list(&found), list(&full), "{:?}", log);
    }
}
