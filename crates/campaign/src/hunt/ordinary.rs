//! What a user should know of the ordinary runs before trusting what a hunt says.

use deadheat_confirm::Baseline;
use deadheat_report::finding::{FreedBlock, own};

/// Notices about the ordinary runs.
pub(super) fn notices(baseline: &Baseline) -> Vec<String> {
    let mut told = Vec::new();
    let stopped = baseline.stopped();
    if stopped > 0 {
        told.push(format!(
            "{stopped} of {} ordinary runs were stopped before their end (the others took at most {:.1?}), and say nothing: the machine may be busy, the program sleep in real time in the run without deadheat, or hang by itself sometimes",
            baseline.endless().1, baseline.elapsed
        ));
    }
    let ended = baseline.run.records.ended.is_some();
    if ended
        && baseline
            .run
            .records
            .processes
            .iter()
            .all(|p| p.threads.iter().all(|t| t.thread.0 == 0))
    {
        told.push(
            "there was never more than one thread in the ordinary runs: give arguments with which there are".into(),
        );
    }
    if let Some(status) = baseline.status().filter(|status| *status != 0) {
        let stderr = baseline.run.stderr.text();
        let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
        let last = last.map(|line| format!("; the last line of its error output: {line}"));
        told.push(format!(
            "the program's ordinary runs exit with status {status}{}",
            last.unwrap_or_default()
        ));
    }
    // What all of them show is told when it is known whether another schedule avoids it.
    let bad = baseline.fifo.iter().find_map(|o| match o {
        // A deadlock is a finding though the ordinary runs show it.
        deadheat_confirm::Outcome::Exit(_) | deadheat_confirm::Outcome::Deadlock => None,
        other => other.as_harm(),
    });
    if let (Some(harm), None) = (bad, baseline.always_fails()) {
        let what = deadheat_report::words::harm(harm.kind);
        told.push(format!(
            "the program's ordinary runs already end badly ({what}: {}): that is laid to no schedule",
            harm.detail
        ));
    }
    if let Some(outcome) = baseline.fails_natively() {
        let ended = |harm: deadheat_model::Harm| {
            let what = deadheat_report::words::harm(harm.kind);
            format!("ended badly ({what}: {})", harm.detail)
        };
        let how = outcome.as_harm().map_or("did not end".into(), ended);
        told.push(format!(
            "the run without deadheat {how}: the program fails by itself, at least sometimes"
        ));
    }
    if !baseline.repeatable {
        told.push("ordinary runs did not repeat with the same schedule: something outside has a say in it".into());
    }
    if !baseline.fixed_addresses {
        told.push("address randomisation cannot be switched off here: replays may depend on addresses".into());
    }
    if !baseline.opaque_libraries.is_empty() {
        let names = baseline.opaque_libraries.join(", ");
        told.push(format!(
            "libraries without sites ({names}): synchronisation in them is unseen"
        ));
    }
    if !baseline.poison {
        told.push(
            "the ordinary runs end otherwise where freed blocks are overwritten: the program looks at freed memory, or at memory that it did not initialise; freed blocks are left as they are"
                .into(),
        );
    }
    told
}

/// A freed block that the ordinary runs use too.
pub(super) fn freed_use(block: &FreedBlock) -> String {
    let at = |place: &deadheat_report::finding::Place| {
        let frame = own(&place.stack);
        frame.map_or_else(|| "an unknown place".into(), deadheat_report::finding::Frame::place)
    };
    let freed = block.freed.as_ref().map(|place| format!(", freed at {}", at(place)));
    format!(
        "the ordinary runs do this too, so it is laid to no schedule: {} {} at {}{}",
        block.used.thread.label(),
        block.does,
        at(&block.used),
        freed.unwrap_or_default()
    )
}
