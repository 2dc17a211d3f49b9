//! The progress line: phase, candidates, real, harmful, runs per second. Only on terminals.

use deadheat_confirm::Case;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How many candidates came how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Had a try.
    pub tried: usize,
    /// Need no further try.
    pub settled: usize,
    /// Were shown.
    pub real: usize,
    /// Do harm.
    pub harmful: usize,
}

impl Counts {
    /// Of these cases.
    pub fn of<'c>(cases: impl IntoIterator<Item = &'c Case>) -> Counts {
        let mut counts = Counts::default();
        for case in cases {
            counts.tried += usize::from(case.tries > 0);
            counts.settled += usize::from(case.settled.is_some());
            counts.real += usize::from(case.shown.is_some());
            counts.harmful += usize::from(case.harm.is_some());
        }
        counts
    }

    fn add(&mut self, before: Counts, after: Counts) {
        self.tried += after.tried.saturating_sub(before.tried);
        self.settled += after.settled.saturating_sub(before.settled);
        self.real += after.real.saturating_sub(before.real);
        self.harmful += after.harmful.saturating_sub(before.harmful);
    }
}

/// A line on standard error, or nothing.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    /// Number of candidates, and how far they came.
    state: Mutex<(usize, Counts)>,
}

impl Progress {
    /// A line if standard error is a terminal and `quiet` is not set.
    pub fn new(quiet: bool) -> Progress {
        let bar = ProgressBar::new_spinner();
        let shown = std::io::stderr().is_terminal() && !quiet;
        bar.set_draw_target(if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress {
            bar,
            begun: Instant::now(),
            state: Mutex::default(),
        }
    }

    /// Shows the phase.
    pub fn phase(&self, text: &str, runs: u64) {
        let (candidates, n) = self.state.lock().map(|state| *state).unwrap_or_default();
        let rate = runs as f64 / self.begun.elapsed().as_secs_f64().max(0.001);
        self.bar.set_message(format!(
            "{text}: {candidates} candidates, {} tried, {} settled, {} real, {} harmful, {rate:.0} runs/s",
            n.tried, n.settled, n.real, n.harmful
        ));
    }

    /// Says how many candidates there are.
    pub fn candidates(&self, count: usize) {
        if let Ok(mut state) = self.state.lock() {
            state.0 = count;
        }
    }

    /// Says what is known of the candidates from earlier hunts.
    pub fn known(&self, cases: &[Case]) {
        if let Ok(mut state) = self.state.lock() {
            state.1 = Counts::of(cases);
        }
    }

    /// Counts what a turn before the judge brought.
    pub fn judged(&self, before: Counts, after: Counts) {
        if let Ok(mut state) = self.state.lock() {
            state.1.add(before, after);
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
