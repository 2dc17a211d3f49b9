//! The story of a finding: its run's events, numbered, each thread in a lane of its own.

use crate::finding::{Event, Story};
use crate::words;
use std::fmt::Write;

/// Columns of a lane.
const LANE: usize = 4;
/// Lanes side by side; more threads share the last.
const LANES: usize = 8;

/// The story as lines of text.
pub fn text(story: &Story) -> String {
    let mut out = String::new();
    let _ = write(&mut out, story);
    out
}

fn write(out: &mut String, story: &Story) -> std::fmt::Result {
    let mut threads: Vec<u32> = story.events.iter().map(|e| e.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let preemptions = match story.preemptions {
        0 => "without a preemption".into(),
        n => format!("with {}", words::count(n.into(), "preemption")),
    };
    writeln!(out, "  how it comes about, {preemptions}:")?;
    let mut last = 0;
    // A loop does the same over and over.
    let again =
        |a: &Event, b: &Event| b.number == a.number + 1 && (a.thread, &a.does, &a.at) == (b.thread, &b.does, &b.at);
    for events in story.events.chunk_by(again) {
        let event = &events[0];
        let gap = event.number.saturating_sub(last + 1);
        if gap > 0 {
            writeln!(out, "         ({} left out)", words::count(gap.into(), "event"))?;
        }
        last = event.number + events.len() as u32 - 1;
        let lane = threads.iter().position(|t| *t == event.thread).unwrap_or(0);
        let times = match events.len() {
            1 => String::new(),
            times => format!(", {times} times (to event {last})"),
        };
        writeln!(out, "{}{times}", line(event, lane.min(LANES - 1)))?;
    }
    if let Some(swap) = &story.swap {
        let (first, second) = (swap.first, swap.second);
        writeln!(out, "  with {second} before {first}: {}", swap.outcome)?;
    }
    Ok(())
}

fn line(event: &Event, lane: usize) -> String {
    let who = match event.thread {
        0 => "main".into(),
        n => format!("T{n}"),
    };
    let at = event.at.as_ref().filter(|f| f.line > 0);
    let at = at.map(|f| format!("  ({} at {})", words::short(&f.function), f.place()));
    let indent = " ".repeat(lane * LANE);
    format!(
        "  {:>4}  {indent}{who} {}{}",
        event.number,
        event.does,
        at.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Swap;

    #[test]
    fn each_thread_has_its_lane() {
        let event = |number, thread, does: &str| Event {
            number,
            thread,
            does: does.into(),
            at: None,
        };
        let story = Story {
            preemptions: 1,
            events: vec![
                event(3, 1, "takes mutex `a`"),
                event(4, 2, "takes mutex `b`"),
                event(9, 1, "waits for mutex `b`"),
                event(10, 2, "updates `x`"),
                event(11, 2, "updates `x`"),
                event(12, 2, "updates `x`"),
            ],
            left_out: 6,
            swap: Some(Swap {
                first: 4,
                second: 9,
                outcome: "the program exits with status 0".into(),
            }),
        };
        let told = "  how it comes about, with 1 preemption:\n         (2 events left out)\n     3  T1 takes mutex `a`\n\
                    \u{20}    4      T2 takes mutex `b`\n         (4 events left out)\n     9  T1 waits for mutex `b`\n\
                    \u{20}   10      T2 updates `x`, 3 times (to event 12)\n\
                    \u{20} with 9 before 4: the program exits with status 0\n";
        assert_eq!(text(&story), told);
    }
}
