//! The story of a finding: its run's events, numbered, each thread in a lane of its own. The lanes of a page are
//! [`crate::html`]'s.

use crate::finding::{Event, Story, Swap};
use crate::words;
use std::fmt::Write;

/// Columns of a lane.
const LANE: usize = 4;
/// Lanes side by side; more threads share the last.
const LANES: usize = 8;
/// Most events of a loop's round that is told once.
const ROUND: usize = 8;

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
    /// The last so many events come again, so many times, up to the event with the last number.
    Again { events: u32, times: u32, last: u32 },
}

/// The lines of a story, in order. What a loop does over and over is told once; a round with an event that decides is
/// told like the first.
pub fn rows(story: &Story) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut last = 0;
    let mut left = &story.events[..];
    while let Some(event) = left.first() {
        let gap = event.number.saturating_sub(last + 1);
        if gap > 0 {
            rows.push(Row::LeftOut(gap));
        }
        let (length, times) = round(left, story.swap.as_ref());
        last = left[length * times - 1].number;
        if length == 1 {
            rows.push(Row::Event(event, last));
        } else {
            rows.extend(left[..length].iter().map(|e| Row::Event(e, e.number)));
            rows.push(Row::Again {
                events: length as u32,
                times: times as u32 - 1,
                last,
            });
        }
        left = &left[length * times..];
    }
    rows
}

/// How many of the first events of one thread come again and again, and how often in all: what leaves most out.
fn round(events: &[Event], swap: Option<&Swap>) -> (usize, usize) {
    let same = |a: &Event, b: &Event| (a.thread, &a.does, &a.at) == (b.thread, &b.does, &b.at);
    let decides = |e: &Event| swap.is_some_and(|s| e.number == s.first || e.number == s.second);
    let (mut best, mut saved) = ((1, 1), 0);
    for length in 1..=ROUND.min(events.len()) {
        let own = |n: usize| events[n].thread == events[0].thread && events[n].number == events[0].number + n as u32;
        let told = |e: &Event| length > 1 && decides(e);
        let comes_again = |n: &usize| own(*n) && same(&events[*n], &events[*n - length]) && !told(&events[*n]);
        let again = (length..events.len()).take_while(comes_again).count() / length;
        // A round of several takes a line to say so.
        let fewer = (again * length).saturating_sub(usize::from(length > 1));
        if (0..length).all(own) && fewer > saved {
            (best, saved) = ((length, again + 1), fewer);
        }
    }
    best
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

/// A loop's further rounds.
pub fn again(events: u32, times: u32, last: u32) -> String {
    let often = match times {
        1 => "once more".into(),
        times => format!("{times} times more"),
    };
    format!("(these {events} events {often}, to event {last})")
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
            Row::Again { events, times, last } => writeln!(out, "         {}", again(events, times, last)),
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

    #[test]
    fn rounds_of_a_loop_are_told_once_but_for_the_events_that_decide() {
        let events = (1..=14).map(|number| Event {
            number,
            thread: 1,
            does: if number % 2 == 1 { "reads `x`" } else { "writes `x`" }.into(),
            at: None,
        });
        let mut story = Story {
            preemptions: 0,
            events: events.collect(),
            left_out: 0,
            swap: None,
        };
        let told = "  how it comes about, without a preemption:\n     1  T1 reads `x`\n     2  T1 writes `x`\n         \
                    (these 2 events 6 times more, to event 14)\n";
        assert_eq!(text(&story), told);
        story.swap = Some(Swap {
            first: 2,
            second: 9,
            outcome: "the program exits with status 0".into(),
        });
        let numbers = rows(&story).into_iter().filter_map(|row| match row {
            Row::Event(event, _) => Some(event.number),
            _ => None,
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 9, 10]);
    }
}
