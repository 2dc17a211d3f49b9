//! Wanted against reported. The rules stand in `cases/README.md`; every hunt is judged alone.

use std::fmt;

use super::annotation::{Ask, Case, Expect, Label};
use super::reported::Reported;
use super::stage::Stage;

/// Something wanted that is missing, or something reported that was not wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Wanted and not reported.
    Missing(String),
    /// Reported and not wanted.
    Surplus(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Missing(what) => write!(f, "missing: {what}"),
            Difference::Surplus(what) => write!(f, "surplus: {what}"),
        }
    }
}

/// Compares what `stage` reported on a case with its annotations.
pub fn compare(case: &Case, stage: Stage, reported: &[Reported]) -> Vec<Difference> {
    let mut differences: Vec<_> = reported.iter().filter_map(|r| surplus(case, stage, r)).collect();
    for (name, label) in &case.labels {
        let found = |real| {
            reported
                .iter()
                .any(|r| is_pair(r) && r.real == real && label.covers(&r.lines))
        };
        let waits = |real| reported.iter().any(|r| r.real == real && label.waits(r));
        let what = match label.ask {
            Ask::Real if found(true) || waits(true) => continue,
            // The static stage suspects; a race that it is known to miss carries a label for that.
            Ask::Real if stage == Stage::Scan && (found(false) || waits(false)) => continue,
            Ask::Real if stage == Stage::Scan && missed(case, stage, &label.lines) => continue,
            Ask::Real if stage == Stage::Scan => format!("{}, wanted suspected", label.text(name)),
            Ask::Real if found(false) => format!("{} is only suspected, wanted real", label.text(name)),
            Ask::Real => format!("{}, wanted real", label.text(name)),
            Ask::Suspected(of) if of == stage && !found(false) && !waits(false) => {
                format!("{}, wanted suspected", label.text(name))
            }
            _ => continue,
        };
        differences.push(Difference::Missing(what));
    }
    for expect in &case.expect {
        let met = match expect {
            Expect::None | Expect::Real => true,
            Expect::Harmful(_) if stage == Stage::Scan => true,
            Expect::Harmful(harm) => reported.iter().any(|r| {
                r.harm
                    .as_ref()
                    .is_some_and(|(kind, detail)| kind == harm.kind && detail.contains(harm.detail))
                    && is_pair(r)
            }),
            Expect::Kind(kind) => reported
                .iter()
                .any(|r| (r.real || stage == Stage::Scan) && r.kind == *kind),
        };
        if !met {
            differences.push(Difference::Missing(match expect {
                Expect::Harmful(harm) => format!("harm of kind {}", harm.kind),
                Expect::Kind(kind) => format!("a {kind}"),
                Expect::None | Expect::Real => continue,
            }));
        }
    }
    differences
}

/// Whether the pair on these lines is one that the stage is known to miss.
fn missed(case: &Case, stage: Stage, lines: &std::collections::BTreeSet<u32>) -> bool {
    let mut labels = case.labels.values();
    labels.any(|l| l.ask == Ask::Missed(stage) && l.lines == *lines)
}

fn is_pair(reported: &Reported) -> bool {
    reported.kind == "data-race"
}

/// What is wrong with a finding, if something is.
fn surplus(case: &Case, stage: Stage, reported: &Reported) -> Option<Difference> {
    let harm_is_wanted = match &reported.harm {
        None => false,
        Some((kind, detail)) => case
            .expect
            .iter()
            .any(|e| matches!(e, Expect::Harmful(h) if kind == h.kind && detail.contains(h.detail))),
    };
    let text = text(reported);
    if !is_pair(reported) {
        // The bad end that a marked pair leads to may also be reported by itself: the same failure can come
        // about in runs in which no single pair is to blame.
        let tolerated = |label: &Label| match label.ask {
            Ask::Suspected(of) | Ask::Tolerated(of) | Ask::Missed(of) => of == stage && !reported.real,
            Ask::Possible(of) => of == stage,
            // A suspicion of what is wanted real: that it is not shown is told as missing.
            Ask::Real => !reported.real,
        };
        if case.labels.values().any(|l| tolerated(l) && l.waits(reported)) {
            return None;
        }
        let kind_is_wanted = case.expect.contains(&Expect::Kind(reported.kind.clone()));
        return (!kind_is_wanted && !harm_is_wanted).then_some(Difference::Surplus(text));
    }
    let lines = reported.lines.iter().flatten().copied().collect();
    if stage == Stage::Scan && missed(case, stage, &lines) {
        return Some(Difference::Surplus(format!("{text}, though it is marked as missed")));
    }
    let allowed = case
        .labels
        .values()
        .filter(|label| label.covers(&reported.lines))
        .any(|label| match label.ask {
            // A suspicion on a racing pair is no surplus: that it is not shown is told as missing.
            Ask::Real => true,
            Ask::Suspected(of) | Ask::Tolerated(of) | Ask::Missed(of) => of == stage && !reported.real,
            Ask::Possible(of) => of == stage,
        });
    match allowed {
        false => Some(Difference::Surplus(text)),
        true if reported.harm.is_some() && !harm_is_wanted => Some(Difference::Surplus(format!("the harm of {text}"))),
        true => None,
    }
}

fn text(reported: &Reported) -> String {
    let verdict = if reported.real { "real" } else { "suspected" };
    let line = |line: &Option<u32>| line.map_or("outside".into(), |l| l.to_string());
    let mut text = format!("{} {verdict}", reported.kind);
    if !reported.lines.is_empty() {
        text += &format!(
            ", lines {}",
            reported.lines.iter().map(line).collect::<Vec<_>>().join(" and ")
        );
    }
    if !reported.waiting.is_empty() {
        text += &format!(", waiting at {:?}", reported.waiting);
    }
    if let Some((kind, detail)) = &reported.harm {
        text += &format!(", harm {kind}: {detail}");
    }
    text
}

impl Label {
    /// Whether these are the lines of the label's pair: a label on two lines stands for the two, a label on
    /// one line for that line with itself.
    fn covers(&self, lines: &[Option<u32>]) -> bool {
        let (Some(first), Some(last)) = (self.lines.first(), self.lines.last()) else {
            return false;
        };
        lines == [Some(*first), Some(*last)]
    }

    /// Whether threads of a deadlock wait at all these lines.
    fn waits(&self, reported: &Reported) -> bool {
        self.lines.iter().all(|line| reported.waiting.contains(line))
    }

    fn text(&self, name: &str) -> String {
        let lines: Vec<_> = self.lines.iter().map(u32::to_string).collect();
        let lines = if lines.len() == 1 {
            format!("{} with itself", lines[0])
        } else {
            lines.join(" and ")
        };
        format!("pair ({name}), lines {lines}")
    }
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
