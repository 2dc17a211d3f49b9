//! The report as text for a person at a terminal.
//!
//! For each finding: one line that says it all, the source with the statements marked and what each
//! thread does there, the object, what either order leads to, the harm, how often, and how to see it again.

use crate::cause;
use crate::finding::{Access, Finding, Frame, FreedBlock, Lock, Misuse, Report, Thread, Waiting, own};
use crate::format::Options;
use crate::freed_block;
use crate::interval::Interval;
use crate::source::Sources;
use crate::{story, words};
use anstyle::{AnsiColor, Style};
use deadheat_model::Verdict;
use std::collections::BTreeSet;
use std::fmt::Write;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GUTTER: Style = AnsiColor::Blue.on_default().bold();

/// Frames of a stack that are shown.
const FRAMES: usize = 6;
/// Threads of a deadlock or hang that are shown.
const THREADS: usize = 8;
/// Locks of one thread that are shown.
const LOCKS: usize = 8;
/// Findings of the same cause that are shown.
const SIBLINGS: usize = 20;
/// Lines of source before a marked one.
const BEFORE: u32 = 2;
/// Marked lines at most this far apart share an excerpt.
const CLOSE: u32 = 5;
/// Lines of source after a marked one.
const AFTER: u32 = 1;

fn colour(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Harmful => AnsiColor::Red.on_default().bold(),
        Verdict::Real => AnsiColor::Yellow.on_default().bold(),
        Verdict::Suspected => AnsiColor::Cyan.on_default(),
    }
}

fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The findings that the options ask for.
pub fn shown<'a>(report: &'a Report, options: &Options) -> Vec<&'a Finding> {
    let all = report.findings.iter();
    all.filter(|f| f.verdict > Verdict::Suspected || options.suspected)
        .collect()
}

/// The whole report.
pub fn text(report: &Report, options: &Options) -> String {
    let mut out = String::new();
    let mut sources = Sources::default();
    let shown = shown(report, options);
    for group in cause::grouped(&shown) {
        out += &finding(group[0], &mut sources);
        if let Some(story) = &group[0].story {
            out += &story::text(story);
        }
        out += &again(&group, options);
        out.push('\n');
    }
    out + &summary(report, &shown, options)
}

/// What was found in all, and what limits it.
pub fn summary(report: &Report, shown: &[&Finding], options: &Options) -> String {
    let mut out = String::new();
    let _ = write_summary(&mut out, report, shown, options);
    out
}

fn write_summary(out: &mut String, report: &Report, shown: &[&Finding], options: &Options) -> std::fmt::Result {
    if shown.len() > 1 {
        for f in shown {
            let head = format!("{:>4}  {:<9}", f.id, words::verdict(f.verdict));
            writeln!(out, "{}  {}", paint(colour(f.verdict), head), words::summary(f))?;
        }
        out.push('\n');
    }
    let (harmful, real) = (report.count(Verdict::Harmful), report.count(Verdict::Real));
    let suspected = report.findings.len() - real;
    let told = match (real, harmful) {
        (0, _) => "nothing real found".into(),
        (r, 0) => format!("{r} real"),
        (r, h) => format!("{r} real, of these {h} harmful"),
    };
    let style = if harmful > 0 {
        colour(Verdict::Harmful)
    } else if real > 0 {
        colour(Verdict::Real)
    } else {
        BOLD
    };
    write!(out, "{}", paint(style, told))?;
    if suspected > 0 {
        let hint = if options.suspected {
            ""
        } else {
            " (--suspected lists them)"
        };
        write!(out, ", {suspected} suspected{hint}")?;
    }
    let s = &report.stats;
    if s.schedules > 0 || s.candidates > 0 {
        let (candidates, schedules) = (
            words::count(s.candidates.into(), "candidate"),
            words::count(s.schedules.into(), "schedule"),
        );
        let causes = match s.causes {
            n if n > 0 && n < s.candidates => format!(" of {}", words::count(n.into(), "cause")),
            _ => String::new(),
        };
        write!(out, "; {candidates}{causes} under {schedules}")?;
    }
    if s.runs > 0 {
        write!(out, ", {}, {:.1} s", words::count(s.runs, "run"), s.seconds)?;
    }
    if s.inconclusive > 0 {
        write!(out, ", {} stopped by a limit", s.inconclusive)?;
    }
    if s.suppressed > 0 {
        write!(out, ", {} suppressed", s.suppressed)?;
    }
    out.push('\n');
    if let Some(why) = &s.stopped {
        let untried = match s.untried {
            0 => String::new(),
            n => format!(", {n} were not tried"),
        };
        let told = format!("{} of {} candidates are settled{untried}", s.settled, s.candidates);
        writeln!(out, "{why}: {told}")?;
    }
    for notice in &report.notices {
        writeln!(out, "{} {notice}", paint(BOLD, "note:"))?;
    }
    Ok(())
}

/// What a finding is: statements, threads, memory, orders, harm.
pub fn finding(f: &Finding, sources: &mut Sources) -> String {
    let mut out = String::new();
    let _ = write_finding(&mut out, f, sources);
    out
}

fn write_finding(out: &mut String, f: &Finding, sources: &mut Sources) -> std::fmt::Result {
    let head = format!("{} {} {}", f.id, words::verdict(f.verdict), words::kind(f.kind));
    write!(out, "{}", paint(colour(f.verdict), head))?;
    if let Some(object) = &f.object {
        write!(out, " {}", paint(BOLD, format!("on {}", words::object(object))))?;
    }
    out.push('\n');
    excerpts(out, &f.accesses, sources)?;
    for access in &f.accesses {
        who(out, access)?;
    }
    let mut told = BTreeSet::new();
    for thread in f
        .accesses
        .iter()
        .map(|a| &a.thread)
        .chain(f.ended_at.iter().map(|p| &p.thread))
        .chain(f.freed.iter().flat_map(freed_block::threads))
    {
        created(out, thread, &mut told)?;
    }
    for waiting in f.threads.iter().take(THREADS) {
        waits(out, waiting, sources)?;
    }
    let more = f.threads.len().saturating_sub(THREADS) as u64 + u64::from(f.threads_left_out);
    if more > 0 {
        let told = format!(
            "  … {} more (`--format json` has more)",
            words::count(more, "waiting thread")
        );
        writeln!(out, "{}", paint(DIM, told))?;
    }
    if let Some(m) = &f.misuse {
        misuse(out, m, sources)?;
    }
    if let Some(object) = f.object.as_ref().filter(|o| !o.allocated.is_empty()) {
        let by = object.thread.map(|t| format!(" by {}", label(t))).unwrap_or_default();
        writeln!(out, "  the block was allocated{by}")?;
        stack(out, &object.allocated, "    ")?;
    }
    for order in &f.orders {
        let values = match (&order.before, &order.after) {
            (Some(b), Some(a)) => format!("memory held {b} before, {a} after both; "),
            (Some(b), None) => format!("memory held {b} before; "),
            _ => String::new(),
        };
        let first = f.accesses.iter().find(|a| a.role == order.first);
        let first = first.map_or(order.first.clone(), |a| {
            format!("{} ({})", a.thread.label(), words::access(a.kind))
        });
        writeln!(out, "  if {first} goes first: {values}{}", order.outcome)?;
    }
    if f.verdict == Verdict::Real && f.orders.len() > 1 && f.orders.iter().all(words::ends_badly) {
        writeln!(out, "  either order ends badly: laid to no order")?;
    }
    // Said already where an order led to it.
    let said = |h: &&deadheat_model::Harm| !f.orders.iter().any(|o| o.outcome.ends_with(&h.detail));
    if let Some(harm) = f.harm.as_ref().filter(said) {
        let style = colour(f.verdict);
        writeln!(out, "  {}: {}", paint(style, words::harm(harm.kind)), harm.detail)?;
    }
    if let Some(block) = &f.freed {
        freed(out, block)?;
    }
    if let Some(place) = f.ended_at.as_ref().filter(|p| !p.stack.is_empty()) {
        writeln!(out, "  {} ended the program here", place.thread.label())?;
        stack(out, &place.stack, "    ")?;
    }
    Ok(())
}

/// How sure it is and how it is seen again; and what else is likely to have its cause.
pub fn again(group: &[&Finding], options: &Options) -> String {
    let mut out = String::new();
    let _ = write_again(&mut out, group[0], options).and_then(|()| siblings(&mut out, group));
    out
}

fn write_again(out: &mut String, f: &Finding, options: &Options) -> std::fmt::Result {
    if let Some(input) = &f.input {
        let what = input.differences.join(", ");
        writeln!(out, "  with input {}: {what}", input.id)?;
    }
    if !f.reasons.is_empty() {
        writeln!(out, "  why: {}", f.reasons.join("; "))?;
    }
    evidence(out, f)?;
    match &f.replay {
        Some(token) if options.unstored => writeln!(out, "  again: deadheat replay {token} -- PROGRAM ARGS")?,
        Some(_) => {
            let command = format!("deadheat replay {}{}", options.store, f.id);
            writeln!(out, "  again: {}", paint(BOLD, command))?;
        }
        None => {}
    }
    Ok(())
}

/// What is done with a freed block, who freed it, who allocated it.
fn freed(out: &mut String, block: &FreedBlock) -> std::fmt::Result {
    for (told, place) in freed_block::steps(block) {
        writeln!(out, "  {} {told} here", place.thread.label())?;
        stack(out, &place.stack, "    ")?;
    }
    Ok(())
}

/// What is likely to have the same cause as the first of the group, a line each.
fn siblings(out: &mut String, group: &[&Finding]) -> std::fmt::Result {
    if group.len() > 1 {
        writeln!(out, "  likely of the same cause (`--format json` has each in full):")?;
    }
    for f in group.iter().skip(1).take(SIBLINGS) {
        let head = format!("{} {}", f.id, words::verdict(f.verdict));
        let places = f
            .accesses
            .iter()
            .map(|a| format!("{} at {}", words::access(a.kind), a.place()));
        let places = places.collect::<Vec<_>>().join(", ");
        let harm = f
            .harm
            .as_ref()
            .map(|h| format!("; {}: {}", words::harm(h.kind), h.detail));
        writeln!(
            out,
            "    {}  {places}{}",
            paint(colour(f.verdict), head),
            harm.unwrap_or_default()
        )?;
    }
    let more = group.len().saturating_sub(1 + SIBLINGS);
    if more > 0 {
        writeln!(out, "{}", paint(DIM, format!("    … {more} more")))?;
    }
    Ok(())
}

fn evidence(out: &mut String, f: &Finding) -> std::fmt::Result {
    let (directed_hits, directed) = f.share();
    let likely = Interval::wilson(directed_hits, directed)
        .map(Interval::percent)
        .unwrap_or_default();
    match f.evidence {
        Some(e) if f.tries > 0 && f.hits > 0 => {
            let (hits, tries) = (f.hits, f.tries);
            let told = words::evidence(e);
            let of_these = match directed {
                n if n == tries => String::new(),
                n => format!(", {directed_hits} of the {n} directed at it"),
            };
            writeln!(
                out,
                "  shown in {hits} of {tries} runs{of_these} ({likely} of such runs, 95 % confidence), one of them repeated: {told}"
            )
        }
        Some(e) => writeln!(out, "  shown in a run that was repeated: {}", words::evidence(e)),
        None if f.tries > 0 => writeln!(
            out,
            "  not shown in {} runs ({likely} of such runs, 95 % confidence)",
            f.tries
        ),
        None => writeln!(out, "  not tried"),
    }
}

fn label(thread: u32) -> String {
    if thread == 0 {
        "the main thread".into()
    } else {
        format!("thread T{thread}")
    }
}

fn locks(locks: &[Lock]) -> String {
    if locks.is_empty() {
        return "holding no lock".into();
    }
    let one = |l: &Lock| format!("{} {}{}", l.kind, l.name, if l.shared { " (shared)" } else { "" });
    let shown = locks.iter().take(LOCKS).map(one).collect::<Vec<_>>().join(", ");
    let more = match locks.len().saturating_sub(LOCKS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("holding {shown}{more}")
}

fn who(out: &mut String, access: &Access) -> std::fmt::Result {
    let thread = paint(BOLD, access.thread.label());
    writeln!(
        out,
        "  {thread} {}, {}, in {}",
        words::act(access),
        locks(&access.locks),
        words::short(&access.function)
    )?;
    // The access itself is told by the line above, unless its statement is inside a library's header.
    let itself = access.stack.first().is_some_and(|f| f.line == access.line);
    let rest = access.stack.get(usize::from(itself)..).unwrap_or_default();
    stack(out, rest, "    ")
}

fn created(out: &mut String, thread: &Thread, told: &mut BTreeSet<u32>) -> std::fmt::Result {
    if thread.number == 0 || !told.insert(thread.number) {
        return Ok(());
    }
    let start = thread
        .start
        .as_ref()
        .map(|s| format!(" (runs {s})"))
        .unwrap_or_default();
    let parent = thread.parent.map(|p| format!(" by {}", label(p))).unwrap_or_default();
    writeln!(out, "  {}{start} was created{parent}", thread.label())?;
    stack(out, &thread.created, "    ")
}

fn misuse(out: &mut String, m: &Misuse, sources: &mut Sources) -> std::fmt::Result {
    writeln!(out, "  {} {}", paint(BOLD, m.thread.label()), m.what)?;
    stack(out, &m.stack, "    ")?;
    line(out, &m.stack, sources)?;
    if let Some(other) = m.other.as_ref().filter(|_| !m.taken.is_empty()) {
        let did = words::part(m.kind);
        writeln!(out, "  {} {did} here", paint(BOLD, other.label()))?;
        stack(out, &m.taken, "    ")?;
        line(out, &m.taken, sources)?;
    }
    let mut told = BTreeSet::new();
    for thread in [Some(&m.thread), m.other.as_ref()].into_iter().flatten() {
        created(out, thread, &mut told)?;
    }
    match m.ordinary {
        0 => writeln!(out, "  no ordinary run shows it: it takes this schedule"),
        _ => writeln!(out, "  ordinary runs show it too: it takes no special schedule"),
    }
}

/// The source line of a stack's innermost frame that is the user's own.
fn line(out: &mut String, frames: &[Frame], sources: &mut Sources) -> std::fmt::Result {
    if let Some(frame) = own(frames)
        && let Some(line) = sources.line("", &frame.file, frame.line)
    {
        let gutter = paint(GUTTER, format!("{:>5} |", frame.line));
        writeln!(out, "    {gutter} {}", line.trim_end())?;
    }
    Ok(())
}

fn waits(out: &mut String, w: &Waiting, sources: &mut Sources) -> std::fmt::Result {
    let held = w.holder.filter(|_| !w.wants.starts_with("the end of"));
    let holder = held.map(|h| format!(", which {} holds", label(h))).unwrap_or_default();
    let thread = paint(BOLD, w.thread.label());
    writeln!(out, "  {thread} waits for {}{holder}; {}", w.wants, locks(&w.locks))?;
    stack(out, &w.stack, "    ")?;
    line(out, &w.stack, sources)
}

fn stack(out: &mut String, frames: &[Frame], indent: &str) -> std::fmt::Result {
    let (mut shown, mut folded) = (0, 0);
    for (n, frame) in frames.iter().enumerate() {
        if shown == FRAMES {
            let more = format!("{indent}… {} more", frames.len() - n);
            return writeln!(out, "{}", paint(DIM, more));
        }
        // What a library's header does inside is of no help; that it was called is.
        if frame.of_system() && frames.get(n + 1).is_some_and(Frame::of_system) {
            folded += 1;
            continue;
        }
        shown += 1;
        let folding = match std::mem::take(&mut folded) {
            0 => String::new(),
            more => format!(" (… {more} more inside)"),
        };
        let place = frame.place();
        let at = if place.is_empty() {
            String::new()
        } else {
            format!(" at {place}")
        };
        let inlined = if frame.inlined { " (inlined)" } else { "" };
        writeln!(
            out,
            "{}",
            paint(
                DIM,
                format!("{indent}{}{at}{inlined}{folding}", words::short(&frame.function))
            )
        )?;
    }
    Ok(())
}

/// Source with the accesses marked; accesses in one stretch of a file share an excerpt.
fn excerpts(out: &mut String, accesses: &[Access], sources: &mut Sources) -> std::fmt::Result {
    let mut order: Vec<&Access> = accesses.iter().filter(|a| a.line > 0).collect();
    order.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    let mut next = 0;
    let mut file = "";
    while let Some(first) = order.get(next) {
        let mut last = first.line;
        let mut close = |a: &&&Access| {
            let near = a.file == first.file && a.line <= last + CLOSE;
            last = a.line;
            near
        };
        let count = order[next..].iter().take_while(|a| close(a)).count();
        let group = &order[next..next + count];
        next += count;
        if file == first.file {
            writeln!(out, "  {}", paint(GUTTER, "  ..."))?;
        } else {
            writeln!(out, "  {} {}", paint(GUTTER, "  -->"), first.place())?;
            file = &first.file;
        }
        excerpt(out, group, sources)?;
    }
    Ok(())
}

fn excerpt(out: &mut String, group: &[&Access], sources: &mut Sources) -> std::fmt::Result {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return Ok(());
    };
    for number in first.line.saturating_sub(BEFORE).max(1)..=last.line + AFTER {
        let line = sources.line(&first.directory, &first.file, number);
        let mut marked = group.iter().filter(|a| a.line == number).peekable();
        if line.is_none() && marked.peek().is_none() {
            continue;
        }
        let shown = line.as_deref().unwrap_or("(source not found)").trim_end();
        writeln!(out, "  {} {shown}", paint(GUTTER, format!("{number:>5} |")))?;
        for access in marked {
            let indent = " ".repeat((access.column.max(1) - 1).min(200) as usize);
            let mark = format!("{indent}^ {} {}", access.thread.label(), words::act(access));
            writeln!(
                out,
                "  {} {}",
                paint(GUTTER, "      |"),
                paint(AnsiColor::Red.on_default().bold(), mark)
            )?;
        }
    }
    Ok(())
}
