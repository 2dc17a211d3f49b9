//! One self-contained page: a table of the findings, and for each its text with the colours of the terminal and its
//! story with a column for each thread. No scripts, nothing that is loaded.

use crate::finding::{Finding, Report, Story};
use crate::format::Options;
use crate::source::Sources;
use crate::story::Row;
use crate::{cause, story, terminal, words};
use deadheat_model::Verdict;
use std::fmt::Write;

/// The beginning of every page.
pub(crate) const HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>deadheat</title><style>
:root{color-scheme:light dark;--text:#222;--page:#fff;--box:#f6f6f4;--line:#ddd;--dim:#777;--red:#b00020;--yellow:#8a6d00;--cyan:#006a78;--blue:#1a4fa0;--mark:#fff1c9}
@media(prefers-color-scheme:dark){:root{--text:#ddd;--page:#1b1b1b;--box:#252525;--line:#444;--dim:#999;--red:#ff7b88;--yellow:#e6c35c;--cyan:#5cc8d6;--blue:#8ab4f8;--mark:#4a3d12}}
body{font:16px/1.5 system-ui,sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:var(--text);background:var(--page)}
a{color:inherit}pre{background:var(--box);padding:1em;overflow-x:auto;line-height:1.35}
table{border-collapse:collapse}td,th{text-align:left;padding:.2em 1em .2em 0;vertical-align:top}
.lanes{display:block;overflow-x:auto;font-size:.9em}.lanes td,.lanes th{padding:.2em .8em;border-left:1px solid var(--line)}
.lanes td:first-child,.lanes th:first-child{border:0;text-align:right;color:var(--dim)}.lanes thead th{border-bottom:1px solid var(--line)}
.swap td.does{background:var(--mark);font-weight:bold}.at{display:block;font-weight:normal}
.bold{font-weight:bold}.dim,.at{color:var(--dim)}.red,.harmful{color:var(--red)}.yellow,.real{color:var(--yellow)}.cyan,.suspected{color:var(--cyan)}.blue{color:var(--blue)}
</style></head><body><h1>deadheat</h1>
"#;

/// Lanes side by side; the events of further threads share the last.
const LANES: usize = 16;

/// The report as a page.
pub fn text(report: &Report, options: &Options) -> String {
    let mut out = String::from(HEAD);
    let _ = write(&mut out, report, options);
    out
}

fn write(out: &mut String, report: &Report, options: &Options) -> std::fmt::Result {
    let mut sources = Sources::default();
    let shown = terminal::shown(report, options);
    let groups = cause::grouped(&shown);
    let (file, args) = (escape(&report.program.file), escape(&report.program.args.join(" ")));
    writeln!(out, "<p>{file} {args}</p><table>")?;
    for group in &groups {
        for f in group {
            let (verdict, told) = (words::verdict(f.verdict), escape(&words::summary(f)));
            let (id, section) = (escape(&f.id), escape(&group[0].id));
            let class = class(f.verdict);
            writeln!(
                out,
                "<tr><th><a href=\"#{section}\">{id}</a></th><td class=\"{class}\">{verdict}</td><td>{told}</td></tr>"
            )?;
        }
    }
    // The list is above.
    let summary = terminal::summary(report, &[], options);
    writeln!(out, "</table><pre>{}</pre>", spans(&summary))?;
    for group in &groups {
        section(out, group, options, &mut sources)?;
    }
    if let Some(coverage) = &options.coverage {
        write!(out, "{}", coverage.html())?;
    }
    writeln!(out, "</body></html>")
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Harmful => "harmful",
        Verdict::Real => "real",
        Verdict::Suspected => "suspected",
    }
}

fn section(out: &mut String, group: &[&Finding], options: &Options, sources: &mut Sources) -> std::fmt::Result {
    let f = group[0];
    let (id, told) = (escape(&f.id), escape(&words::summary(f)));
    writeln!(out, "<section id=\"{id}\"><h2>{id}: {told}</h2>")?;
    let text = terminal::finding(f, sources);
    let again = terminal::again(group, options);
    match &f.story {
        Some(story) => {
            writeln!(out, "<pre>{}</pre>", spans(&text))?;
            lanes(out, story)?;
            writeln!(out, "<pre>{}</pre></section>", spans(&again))
        }
        None => writeln!(out, "<pre>{}</pre></section>", spans(&(text + &again))),
    }
}

/// A column for each thread, a row for each event; the two events that decide are marked.
fn lanes(out: &mut String, story: &Story) -> std::fmt::Result {
    let threads = story::threads(story);
    let lanes = threads.len().min(LANES);
    let decides = |number: u32, last: u32| {
        let swap = story.swap.as_ref();
        swap.is_some_and(|s| [s.first, s.second].iter().any(|n| (number..=last).contains(n)))
    };
    writeln!(out, "<p>{}</p>", escape(&story::heading(story)))?;
    write!(out, "<table class=\"lanes\"><thead><tr><th></th>")?;
    for (lane, thread) in threads.iter().take(lanes).enumerate() {
        let others = if lane + 1 == LANES && threads.len() > LANES {
            " and others"
        } else {
            ""
        };
        write!(out, "<th>{}{others}</th>", story::who(*thread))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in story::rows(story) {
        match row {
            Row::LeftOut(count) => aside(out, lanes, &story::left_out(count))?,
            Row::Again { events, times, last } => aside(out, lanes, &story::again(events, times, last))?,
            Row::Event(event, last) => {
                let lane = threads.iter().position(|t| *t == event.thread).unwrap_or(0);
                let class = if decides(event.number, last) {
                    " class=\"swap\""
                } else {
                    ""
                };
                write!(out, "<tr{class}><td>{}</td>", event.number)?;
                write!(out, "{}", "<td></td>".repeat(lane.min(lanes - 1)))?;
                let who = if lane >= LANES - 1 {
                    format!("{} ", story::who(event.thread))
                } else {
                    String::new()
                };
                let does = escape(&story::does(event, last));
                let at = story::place(event).map(|at| format!("<span class=\"at\">{}</span>", escape(&at)));
                write!(out, "<td class=\"does\">{who}{does}{}</td>", at.unwrap_or_default())?;
                writeln!(out, "{}</tr>", "<td></td>".repeat(lanes - 1 - lane.min(lanes - 1)))?;
            }
        }
    }
    writeln!(out, "</tbody></table>")?;
    if let Some(swap) = &story.swap {
        writeln!(out, "<p>{}</p>", escape(&story::swapped(swap)))?;
    }
    Ok(())
}

/// A row about events that are not told one by one.
fn aside(out: &mut String, lanes: usize, told: &str) -> std::fmt::Result {
    writeln!(
        out,
        "<tr><td></td><td colspan=\"{lanes}\" class=\"dim\">{told}</td></tr>"
    )
}

/// A text as it may stand in a page.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// ANSI sequences to spans; only those that the text report uses.
fn spans(text: &str) -> String {
    let mut out = String::new();
    let mut open = 0;
    for (n, piece) in text.split('\u{1b}').enumerate() {
        let (code, rest) = match piece.strip_prefix('[').and_then(|p| p.split_once('m')) {
            Some(parts) if n > 0 => parts,
            _ => ("", piece),
        };
        let class = match code {
            "1" => Some("bold"),
            "2" => Some("dim"),
            "31" => Some("red"),
            "33" => Some("yellow"),
            "34" => Some("blue"),
            "36" => Some("cyan"),
            _ => None,
        };
        if let Some(class) = class {
            out += &format!("<span class=\"{class}\">");
            open += 1;
        } else if code == "0" {
            out += &"</span>".repeat(open);
            open = 0;
        }
        out += &escape(rest);
    }
    out + &"</span>".repeat(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Event, Swap};

    #[test]
    fn each_thread_has_its_column() {
        let event = |number, thread, does: &str| Event {
            number,
            thread,
            does: does.into(),
            at: None,
        };
        let mut events = vec![
            event(1, 0, "starts <T2>"),
            event(4, 2, "reads `x`"),
            event(5, 2, "reads `x`"),
        ];
        events.extend((3..40).map(|thread| event(thread + 3, thread, "writes `x`")));
        let story = Story {
            preemptions: 1,
            events,
            left_out: 2,
            swap: Some(Swap {
                first: 5,
                second: 6,
                outcome: "the program exits with status 0".into(),
            }),
        };
        let mut out = String::new();
        lanes(&mut out, &story).expect("a string has room");
        let rows: Vec<&str> = out.lines().filter(|l| l.contains("class=\"does\"")).collect();
        assert_eq!(rows.len(), 39);
        for row in &rows {
            assert_eq!(row.matches("<td").count(), 1 + LANES, "{row}");
        }
        assert_eq!(
            rows[0],
            format!(
                "<tr><td>1</td><td class=\"does\">starts &lt;T2&gt;</td>{}</tr>",
                "<td></td>".repeat(15)
            )
        );
        assert!(rows[1].starts_with(
            "<tr class=\"swap\"><td>4</td><td></td><td class=\"does\">reads `x`, 2 times (to event 5)</td>"
        ));
        assert!(rows[2].starts_with("<tr class=\"swap\">") && !rows[3].contains("swap"));
        assert!(rows[38].ends_with("<td class=\"does\">T39 writes `x`</td></tr>"));
        assert!(
            out.contains("(2 events left out)") && out.contains("with 6 before 5: the program exits with status 0")
        );
    }
}
