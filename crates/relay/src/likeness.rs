//! Classes of accesses that are alike to whoever compares them.
//!
//! A class names all threads that run beside it, and all locks: a server has thousands of classes that differ in
//! nothing that matters to a pair. Guards and moments (root, threads, barriers) are numbered, whether two of them keep
//! accesses apart is decided once, and moments of one root from which the same moments are apart are one *kind*. Classes
//! that differ in the kind's moments alone are one [`Group`].
//!
//! Invariant: members of a group conflict with the same classes and rank alike, so that the group's first statement on
//! each line stands for all. Cost: moments squared, up to [`MOMENTS`] of them; beyond, each is a kind of its own.

use crate::access_path::{Path, Site};
use crate::execution::AccessKind;
use crate::guard::{self, Guard};
use crate::guarded_access::{ClassKey, Occurrence, Occurrences};
use crate::parallelism::{Moment, Parallelism};
use crate::subject::Cell;
use crate::waited::Waited;
use deadheat_ir::{LocationId, Module, StringId, TagId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Moments that are compared with each other to find their kinds.
const MOMENTS: usize = 1500;

/// Where a statement stands, for telling warnings apart.
pub type Line = (Option<StringId>, u32, Option<StringId>);

/// A statement of a group.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// Number of its line.
    pub line: u32,
    /// Its class's number.
    pub class: usize,
    /// Its place among the class's occurrences.
    pub number: usize,
    /// Where it is.
    pub occurrence: Occurrence,
    /// Number of its line in the order of files and lines.
    rank: u32,
}

impl Statement {
    /// Its place in the source, as a person orders places.
    pub fn place(&self) -> (u32, Site) {
        (self.rank, self.occurrence.site)
    }
}

/// Classes that are alike.
#[derive(Clone, Debug)]
pub struct Group {
    /// The first one's number.
    pub class: usize,
    guards: u32,
    kind: u32,
    /// The first statement on each line, by number.
    statements: Range<u32>,
}

/// All groups, and what pairs of them need.
pub struct Groups<'a> {
    /// The classes.
    pub classes: Vec<(&'a ClassKey, &'a Occurrences)>,
    /// The groups, in order of their first classes.
    pub groups: Vec<Group>,
    /// The statements of all groups.
    pub statements: Vec<Statement>,
    parallelism: &'a Parallelism<'a>,
    /// The first moment of each kind.
    kinds: Vec<Moment<'a>>,
    guards: Vec<&'a [Guard]>,
    together: FxHashMap<(u32, u32), bool>,
    excluded: FxHashMap<(u32, u32), bool>,
}

/// What the members of a group have in common, but for guards and moment.
type Common<'a> = (
    Option<&'a Path>,
    Option<Cell>,
    Option<TagId>,
    u64,
    AccessKind,
    bool,
    [Waited; 2],
);

impl<'a> Groups<'a> {
    /// Puts classes together.
    pub fn of(
        module: &Module,
        classes: Vec<(&'a ClassKey, &'a Occurrences)>,
        parallelism: &'a Parallelism<'a>,
    ) -> Groups<'a> {
        let mut moments = Vec::new();
        let mut numbers = FxHashMap::default();
        let moment_of: Vec<usize> = classes
            .iter()
            .map(|(class, _)| {
                let moment = class.moment();
                *numbers
                    .entry((moment.root, moment.threads, moment.barriers))
                    .or_insert_with(|| {
                        moments.push(moment);
                        moments.len() - 1
                    })
            })
            .collect();
        let (kind_of, kinds) = kinds(&moments, parallelism);
        let mut guards: Vec<&[Guard]> = Vec::new();
        let mut guard_numbers: FxHashMap<&[Guard], u32> = FxHashMap::default();
        let mut lines: FxHashMap<Line, u32> = FxHashMap::default();
        let mut group_of: FxHashMap<(Common<'a>, u32, u32), usize> = FxHashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        let mut of_groups: Vec<Vec<Statement>> = Vec::new();
        for (number, (class, occurrences)) in classes.iter().enumerate() {
            let set = *guard_numbers.entry(&class.guards[..]).or_insert_with(|| {
                guards.push(&class.guards[..]);
                guards.len() as u32 - 1
            });
            let kind = kind_of[moment_of[number]];
            let path = class.path.as_deref();
            let (kind_of_access, waited) = (class.kind, class.waited);
            let common = (
                path,
                class.cell,
                class.tag,
                class.size,
                kind_of_access,
                class.atomic,
                waited,
            );
            let at = *group_of.entry((common, set, kind)).or_insert_with(|| {
                groups.push(Group {
                    class: number,
                    guards: set,
                    kind,
                    statements: 0..0,
                });
                of_groups.push(Vec::new());
                groups.len() - 1
            });
            for (place, occurrence) in occurrences.iter().enumerate() {
                let next = lines.len() as u32;
                let line = *lines.entry(line(module, *occurrence)).or_insert(next);
                let statements = &mut of_groups[at];
                if statements.iter().all(|s| s.line != line) {
                    statements.push(Statement {
                        line,
                        class: number,
                        number: place,
                        occurrence: *occurrence,
                        rank: 0,
                    });
                }
            }
        }
        let place = |s: &Statement| place(module, s.occurrence.location);
        let mut statements: Vec<Statement> = Vec::new();
        for (group, of_group) in groups.iter_mut().zip(of_groups) {
            let first = statements.len() as u32;
            statements.extend(of_group);
            group.statements = first..statements.len() as u32;
        }
        let mut places: Vec<_> = statements.iter().map(place).collect();
        places.sort_unstable();
        places.dedup();
        for statement in &mut statements {
            statement.rank = places.partition_point(|p| *p < place(statement)) as u32;
        }
        Groups {
            classes,
            groups,
            statements,
            parallelism,
            kinds,
            guards,
            together: FxHashMap::default(),
            excluded: FxHashMap::default(),
        }
    }

    /// The numbers of a group's statements.
    pub fn statements(&self, group: usize) -> Range<u32> {
        self.groups[group].statements.clone()
    }

    /// A group's statements.
    pub fn of_group(&self, group: usize) -> &[Statement] {
        let Range { start, end } = self.statements(group);
        &self.statements[start as usize..end as usize]
    }

    /// The class that stands for a group.
    pub fn class(&self, group: usize) -> &'a ClassKey {
        self.classes[self.groups[group].class].0
    }

    /// Whether accesses of two groups may happen at the same time, as far as threads and locks go.
    pub fn may_meet(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.groups[a], &self.groups[b]);
        let both = |x: u32, y: u32| (x.min(y), x.max(y));
        let (kinds, guards, parallelism) = (&self.kinds, &self.guards, self.parallelism);
        let excluded = self
            .excluded
            .entry(both(a.guards, b.guards))
            .or_insert_with_key(|(x, y)| guard::exclude(guards[*x as usize], guards[*y as usize]));
        let together = self.together.entry(both(a.kind, b.kind));
        !*excluded && *together.or_insert_with_key(|(x, y)| parallelism.may_be(kinds[*x as usize], kinds[*y as usize]))
    }
}

/// The kind of each moment, and the first moment of each kind.
fn kinds<'a>(moments: &[Moment<'a>], parallelism: &Parallelism<'_>) -> (Vec<u32>, Vec<Moment<'a>>) {
    if moments.len() > MOMENTS {
        return ((0..moments.len() as u32).collect(), moments.to_vec());
    }
    let mut kinds = Vec::new();
    let mut known: FxHashMap<(usize, Vec<bool>), u32> = FxHashMap::default();
    let kind = |moment: &Moment<'a>| {
        let others = moments
            .iter()
            .map(|other| parallelism.may_be(*moment, *other))
            .collect();
        *known.entry((moment.root, others)).or_insert_with(|| {
            kinds.push(*moment);
            kinds.len() as u32 - 1
        })
    };
    (moments.iter().map(kind).collect(), kinds)
}

/// The line of a statement.
pub fn line(module: &Module, occurrence: Occurrence) -> Line {
    match occurrence.location {
        Some(location) => (Some(module[location].file), module[location].line, None),
        None => (
            None,
            occurrence.site.instruction,
            Some(StringId::new(occurrence.site.function)),
        ),
    }
}

/// File and line as a person orders them.
fn place(module: &Module, location: Option<LocationId>) -> (&str, u32) {
    location.map_or(("", 0), |l| (&module[module[l].file], module[l].line))
}
