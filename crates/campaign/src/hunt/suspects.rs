//! Suspicions of the static stage before the judge.
//!
//! A warning names two places of the source; the sites there, all copies, are the targets of tries like those of a
//! predicted pair. What such a try shows is judged by the sites alone: a warning is proven on the same grounds as any
//! pair, and is a candidate like any other from then on. Warnings that phase 1 predicted too are left to its candidates.
//! What no run showed stays suspected, with how far it was tried.

use super::Work;
use crate::candidate::Candidate;
use crate::cause::Order;
use crate::confirmation;
use crate::describe::{Names, unordered_proves};
use crate::phase_one::PhaseOne;
use crate::site_index::SiteIndex;
use crate::statement::Statement;
use deadheat_confirm::Case;
use deadheat_confirm::candidate::BadRun;
use deadheat_model::{AccessKind, FindingKind, SiteKind};
use deadheat_report::Finding;
use deadheat_report::finding::Access;
use deadheat_report::words::count;
use deadheat_wire::plan::Targets;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// So many warnings are tried one by one; more are tried together, as many at once as keeps the tries to that.
const ALONE: usize = 20;
/// But no more at once than this.
const MOST_TOGETHER: usize = 64;

/// The static stage's warnings in a hunt.
#[derive(Default)]
pub(super) struct Suspects {
    /// What the cases below were warned of.
    findings: Vec<Finding>,
    /// One each.
    pub cases: Vec<Case>,
    /// Warnings one of whose places has no site.
    without_sites: Vec<Finding>,
    /// Warnings that phase 1 predicted too.
    predicted: usize,
    /// Warnings that were shown.
    shown: usize,
}

/// Statements by place.
struct Places<'a>(HashMap<(&'a str, u32), Vec<&'a Statement>>);

impl<'a> Places<'a> {
    fn of(sites: &'a SiteIndex) -> Places<'a> {
        let mut places: HashMap<_, Vec<_>> = HashMap::new();
        for statement in sites.all().filter(|s| s.line > 0) {
            places
                .entry((&*statement.file, statement.line))
                .or_default()
                .push(statement);
        }
        Places(places)
    }

    /// The statements that make an access: at its column, else on its line (`x++` reads and writes at one site).
    fn making(&self, access: &Access) -> Vec<&'a Statement> {
        let on_line = self.0.get(&(&*access.file, access.line)).into_iter().flatten();
        let makes: Vec<&Statement> = on_line.copied().filter(|s| makes(s.kind, access)).collect();
        let exact: Vec<&Statement> = makes.iter().copied().filter(|s| s.column == access.column).collect();
        if exact.is_empty() { makes } else { exact }
    }
}

fn makes(kind: SiteKind, access: &Access) -> bool {
    let does = match access.kind {
        AccessKind::Read => kind != SiteKind::Write && kind != SiteKind::AtomicStore && kind != SiteKind::Free,
        AccessKind::Write | AccessKind::ReadWrite => kind.writes() && kind != SiteKind::Free,
        AccessKind::Free => kind == SiteKind::Free,
    };
    does && kind.is_atomic() == access.atomic
}

impl Suspects {
    /// The warnings, joined with the sites of a run; `unordered` says whether that is evidence here.
    pub fn of(warnings: &[Finding], sites: &SiteIndex, candidates: &[Candidate], unordered: bool) -> Suspects {
        let mut suspects = Suspects::default();
        let places = Places::of(sites);
        let predicted: HashSet<_> = candidates.iter().map(|c| (&c.first, &c.second)).collect();
        for warning in warnings.iter().filter(|w| w.kind == FindingKind::DataRace) {
            let [first, second] = &warning.accesses[..] else {
                continue;
            };
            let (first, second) = (places.making(first), places.making(second));
            if first.is_empty() || second.is_empty() {
                suspects.without_sites.push(warning.clone());
                continue;
            }
            let mut pairs = first
                .iter()
                .flat_map(|a| second.iter().map(move |b| (*a.min(b), *a.max(b))));
            if pairs.any(|pair| predicted.contains(&pair)) {
                suspects.predicted += 1;
                continue;
            }
            let copies = |statements: &[&Statement]| {
                let mut all: Vec<_> = statements.iter().flat_map(|s| sites.copies(s)).collect();
                all.sort_unstable();
                all.dedup();
                all
            };
            suspects.cases.push(Case::new(Targets {
                first: copies(&first),
                second: copies(&second),
                atomics: true,
                unordered,
                ..Targets::default()
            }));
            suspects.findings.push(warning.clone());
        }
        suspects
    }

    /// Takes out what was shown, as candidates.
    fn take_shown(&mut self, sites: &SiteIndex) -> Vec<(Candidate, Case)> {
        let all = std::mem::take(&mut self.findings)
            .into_iter()
            .zip(std::mem::take(&mut self.cases));
        let mut shown: Vec<(Candidate, Case)> = Vec::new();
        for (finding, case) in all {
            match shown_as(&case, sites) {
                Some((candidate, case)) => {
                    self.shown += 1;
                    let key = (&candidate.first, &candidate.second);
                    if !shown.iter().any(|(c, _)| (&c.first, &c.second) == key) {
                        shown.push((candidate, case));
                    }
                }
                None => {
                    self.findings.push(finding);
                    self.cases.push(case);
                }
            }
        }
        shown
    }

    /// What was not shown, with how far it was tried.
    pub fn unproven(&self) -> impl Iterator<Item = Finding> {
        let tried = self.findings.iter().zip(&self.cases).map(|(finding, case)| {
            let told = match case.tries {
                0 => "not tried for want of time".into(),
                tries if !case.reached => {
                    format!("in {} none of its statements was executed", count(tries.into(), "run"))
                }
                tries if case.together == tries => {
                    format!(
                        "in {} directed at it and others the two did not meet",
                        count(tries.into(), "run")
                    )
                }
                tries => format!("in {} directed at it the two did not meet", count(tries.into(), "run")),
            };
            (finding, case.tries, told)
        });
        let others = self.without_sites.iter().map(|finding| {
            let told = "one of its places has no statement that a run can watch: not tried".into();
            (finding, 0, told)
        });
        tried.chain(others).map(|(finding, tries, told)| {
            let mut finding = finding.clone();
            finding.tries = tries;
            finding.reasons.push(told);
            finding
        })
    }

    /// What became of the warnings.
    pub fn told(&self) -> String {
        let reached = self.cases.iter().filter(|c| c.reached).count();
        let untried = self.cases.iter().filter(|c| c.tries == 0).count();
        let open = self.cases.len() - reached - untried;
        let all = self.predicted + self.shown + self.cases.len() + self.without_sites.len();
        format!(
            "static stage: {}; {} predicted by runs too, {} shown beyond them; {reached} tried and not shown, {open} not \
             reached with this input, {untried} not tried, {} without a site",
            count(all as u64, "warning"),
            self.predicted,
            self.shown,
            self.without_sites.len()
        )
    }
}

/// A case that a run showed, as the candidate that it is.
fn shown_as(case: &Case, sites: &SiteIndex) -> Option<(Candidate, Case)> {
    let candidate = Candidate::shown_by(case, sites)?;
    let mut case = case.clone();
    // From now on it is about the two statements that were shown.
    let unordered = case.targets.unordered;
    case.targets = Targets {
        unordered,
        ..candidate.targets.clone()
    };
    Some((candidate, case))
}

impl Work<'_> {
    /// What the static stage warned of, joined with the sites of phase 1's runs.
    pub(super) fn suspects(&mut self, candidates: &[Candidate], phase: &PhaseOne) -> Suspects {
        let mut warnings = self.options.warnings.to_vec();
        warnings.retain(|w| !self.suppresses(w));
        let unordered = unordered_proves(&self.baseline.opaque_libraries, &phase.sites);
        Suspects::of(&warnings, &phase.sites, candidates, unordered)
    }

    /// Tries the warnings; with a budget, for at most half of what is left of it. What is shown joins the candidates.
    pub(super) fn confirm_suspects(
        &mut self,
        suspects: &mut Suspects,
        candidates: &mut Vec<Candidate>,
        cases: &mut Vec<Case>,
        bad: &mut Vec<BadRun>,
        phase: &PhaseOne,
    ) {
        if suspects.cases.is_empty() {
            return;
        }
        let judge = self.judge;
        let budget = self.options.budget.filter(|_| self.options.runs.is_none());
        let until = budget.map(|b| self.begun + (self.begun.elapsed() + b) / 2);
        let stage = self.stage;
        let stop = || stage.stopped() || until.is_some_and(|until| Instant::now() >= until);
        let (mut unsaved, mut names) = (None, Names::new(&phase.sites));
        let mut saved = HashSet::new();
        let mut keep = |cases: &[Case]| {
            let shown = cases.iter().filter_map(|c| shown_as(c, &phase.sites));
            let found = shown.filter(|(candidate, _)| saved.insert(candidate.fingerprint()));
            let found = found.map(|(candidate, case)| {
                let execution = case.shown.as_ref().map(|s| self.execution(s));
                (names.race(&candidate, &case), execution)
            });
            let found = found.collect();
            let kept = self.store.together(|| self.save_shown(found));
            unsaved = kept.err().map(|e| e.to_string());
        };
        let order = order(suspects.cases.len(), self.options.runs.is_some());
        let result = confirmation::settle(
            judge,
            &mut suspects.cases,
            &order,
            self.jobs(),
            &stop,
            &self.progress,
            &mut keep,
        );
        let trouble = result.err().map(|e| e.to_string()).or(unsaved);
        self.trouble = self.trouble.take().or(trouble);
        for (candidate, case) in suspects.take_shown(&phase.sites) {
            candidates.push(candidate);
            cases.push(case);
        }
        for end in suspects.cases.iter_mut().flat_map(|c| c.bad.drain(..)) {
            if !end.is_among(bad) {
                bad.push(end);
            }
        }
    }
}

/// The best warnings first; each alone if they are few or each has its own tries. What meets together is tried alone.
fn order(count: usize, exact: bool) -> Order {
    let alone = if exact || count <= ALONE { count } else { 0 };
    let size = count.div_ceil(ALONE).clamp(1, MOST_TOGETHER);
    let rest: Vec<usize> = (alone..count).collect();
    Order {
        alone: (0..alone).collect(),
        together: rest.chunks(size).map(<[usize]>::to_vec).collect(),
        causes: (0..count).collect(),
        different: count,
    }
}
