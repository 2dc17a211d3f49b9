//! The progress line: phase, candidates, real, harmful, runs per second. Only on terminals.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A line on standard error, or nothing.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    candidates: AtomicU32,
    settled: AtomicU32,
    real: AtomicU32,
    harmful: AtomicU32,
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
            candidates: AtomicU32::new(0),
            settled: AtomicU32::new(0),
            real: AtomicU32::new(0),
            harmful: AtomicU32::new(0),
        }
    }

    /// Shows the phase.
    pub fn phase(&self, text: &str, runs: u64) {
        let load = |n: &AtomicU32| n.load(Ordering::Relaxed);
        let rate = runs as f64 / self.begun.elapsed().as_secs_f64().max(0.001);
        let (candidates, settled) = (load(&self.candidates), load(&self.settled));
        let (real, harmful) = (load(&self.real), load(&self.harmful));
        self.bar.set_message(format!(
            "{text}: {settled}/{candidates} candidates settled, {real} real, {harmful} harmful, {rate:.0} runs/s"
        ));
    }

    /// Says how many candidates there are.
    pub fn candidates(&self, count: usize) {
        self.candidates.store(count as u32, Ordering::Relaxed);
    }

    /// Counts what a turn before the judge brought.
    pub fn judged(&self, real: bool, harmful: bool, settled: bool) {
        self.real.fetch_add(real.into(), Ordering::Relaxed);
        self.harmful.fetch_add(harmful.into(), Ordering::Relaxed);
        self.settled.fetch_add(settled.into(), Ordering::Relaxed);
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
