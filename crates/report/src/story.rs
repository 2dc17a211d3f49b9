//! The story of a finding: its run's events, numbered, each thread in a lane of its own. The lanes of a page are
//! [`crate::html`]'s.

use crate::finding::{Event, Story, Swap};
use crate::words;
use std::fmt::Write;

/// Columns of a lane.
const LANE: usize = 4;
/// Lanes side by side; more threads share the last.
const LANES: usize = 8;

/// The threads of a story, each with a lane, by number.
pub fn threads(story: &Story) -> Vec<u32> {
    let mut threads: Vec<u32> = story.events.iter().map(|e| e.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

/// A line of a story.
pub enum Row<'a> {
    /// So many events are not told.
    LeftOut(u32),
    /// A thread does something, over and over up to the event with the second number.
    Event(&'a Event, u32),
}

/// The lines of a story, in order.
pub fn rows(story: &Story) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut last = 0;
    // A loop does the same over and over.
    let again =
        |a: &Event, b: &Event| b.number == a.number + 1 && (a.thread, &a.does, &a.at) == (b.thread, &b.does, &b.at);
    for events in story.events.chunk_by(again) {
        let event = &events[0];
        let gap = event.number.saturating_sub(last + 1);
        if gap > 0 {
            rows.push(Row::LeftOut(gap));
        }
        last = event.number + events.len() as u32 - 1;
        rows.push(Row::Event(event, last));
    }
    rows
}

/// What stands over a story.
pub fn heading(story: &Story) -> String {
    match story.preemptions {
        0 => "how it comes about, without a preemption:".into(),
        n => format!("how it comes about, with {}:", words::count(n.into(), "preemption")),
    }
}

/// The other order of the two events that decide, and what comes of it.
pub fn swapped(swap: &Swap) -> String {
    format!("with {} before {}: {}", swap.second, swap.first, swap.outcome)
}

/// Events that are not told.
pub fn left_out(count: u32) -> String {
    format!("({} left out)", words::count(count.into(), "event"))
}

/// What a thread does, and how often if not once.
pub fn does(event: &Event, last: u32) -> String {
    match last - event.number + 1 {
        1 => event.does.clone(),
        times => format!("{}, {times} times (to event {last})", event.does),
    }
}

/// Where it does that: `(function at file:line)`, if it is known.
pub fn place(event: &Event) -> Option<String> {
    let at = event.at.as_ref().filter(|f| f.line > 0)?;
    Some(format!("({} at {})", words::short(&at.function), at.place()))
}

/// A thread in its lane.
pub fn who(thread: u32) -> String {
    match thread {
        0 => "main".into(),
        n => format!("T{n}"),
    }
}

/// The story as lines of text.
pub fn text(story: &Story) -> String {
    let mut out = format!("  {}\n", heading(story));
    let threads = threads(story);
    for row in rows(story) {
        let _ = match row {
            Row::LeftOut(count) => writeln!(out, "         {}", left_out(count)),
            Row::Event(event, last) => {
                let lane = threads.iter().position(|t| *t == event.thread).unwrap_or(0);
                let indent = " ".repeat(lane.min(LANES - 1) * LANE);
                let at = place(event).map(|at| format!("  {at}")).unwrap_or_default();
                let (who, does) = (who(event.thread), does(event, last));
                writeln!(out, "  {:>4}  {indent}{who} {does}{at}", event.number)
            }
        };
    }
    if let Some(swap) = &story.swap {
        let _ = writeln!(out, "  {}", swapped(swap));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
