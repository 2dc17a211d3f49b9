//! How runs switch between threads: in user space, where that is safe, or by the kernel.

use super::{Run, RunError, Stage};
use deadheat_wire::plan::Plan;

/// Environment variable: how runs switch between threads.
const SWITCHING_VARIABLE: &str = "DEADHEAT_SWITCHING";

impl Stage {
    /// Further runs of the program at this path, without links, exchange its threads in user space: all of its code, and
    /// of the libraries it loads, is known. Not where the environment asks for switches by the kernel, to compare.
    pub fn exchange_threads(&mut self, program: String) {
        if std::env::var_os(SWITCHING_VARIABLE).is_none_or(|way| way != "kernel") {
            self.exchanges = Some(program);
        }
    }

    /// Runs the program as [`Stage::run`] does, with switches by the kernel, whatever other runs do: what was found does
    /// not come from how they switch.
    pub fn repeat(&self, plan: &Plan) -> Result<Run, RunError> {
        let exchanges = None;
        self.run_with(
            plan,
            Plan {
                exchanges,
                ..self.given(plan)
            },
        )
    }
}
