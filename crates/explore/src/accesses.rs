//! What a run accesses, segment by segment, and what its memory is at a branch.
//!
//! A run that leaves an earlier one's path at a branch did the same up to there, unless something that depended on input
//! was taken as it was; so only what follows is kept ([`Line`]), and the rest is read in the earlier one's.
//!
//! Values are known of bytes that were written under observation. Of others it is known that no observed write changed
//! them: two runs whose last writes of a byte are the same have the same there.

use crate::expression::{Expr, Store};
use deadheat_wire::trace::{self, OPAQUE, SHARED, Touch, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The value of a byte: a number below 256, or an expression's number and 256.
type Byte = u32;

/// Eight bytes in one segment.
#[derive(Clone, Copy, Debug)]
struct Access {
    at: u64,
    segment: u32,
    read: u8,
    written: u8,
    /// Place of the bytes after it, if some were written.
    values: u32,
    /// What accessed it, as a sum of hashes.
    statements: u64,
}

/// What a run accessed.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// Ascending by segment.
    rows: Vec<Access>,
    values: Vec<[Byte; 8]>,
    /// Segments in which something ran that could access anything.
    opaque: Vec<u32>,
    /// What more than one thread accessed.
    shared: FxHashSet<u64>,
    /// The first segment in which something that depends on input was taken as it was, or may have been.
    inexact: u32,
    /// The segment from which on that did not happen.
    exact_from: u32,
    /// Whether it is all told.
    whole: bool,
}

impl Accesses {
    /// Takes the accesses of a trace, whose nodes are these expressions; `None` if they make no sense.
    pub(crate) fn import(store: &Store, trace: &Trace, nodes: &[(Expr, u64)]) -> Option<Accesses> {
        let mut all = Accesses {
            inexact: trace.word(trace::FIRST_LOSS_AT).wrapping_sub(1),
            exact_from: trace.word(trace::LAST_LOSS_AT),
            whole: trace.word(trace::CUT_TOUCHES_AT) == 0,
            ..Accesses::default()
        };
        let mut threads: FxHashMap<u64, u16> = FxHashMap::default();
        for touch in trace.touches() {
            if all.rows.last().is_some_and(|last| last.segment > touch.segment) {
                return None;
            }
            if touch.at == OPAQUE {
                all.opaque.push(touch.segment);
                all.inexact = all.inexact.min(touch.segment);
                all.exact_from = all.exact_from.max(touch.segment.saturating_add(1));
                continue;
            }
            let first = *threads.entry(touch.at).or_insert(touch.thread);
            if first != touch.thread || touch.thread == SHARED {
                all.shared.insert(touch.at);
            }
            let values = all.values.len() as u32;
            if touch.written != 0 {
                all.values.push(bytes(store, &touch, nodes)?);
            }
            all.rows.push(Access {
                at: touch.at,
                segment: touch.segment,
                read: touch.read,
                written: touch.written,
                values,
                statements: touch.statements,
            });
        }
        Some(all)
    }

    /// Rows that are kept.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}

fn bytes(store: &Store, touch: &Touch, nodes: &[(Expr, u64)]) -> Option<[Byte; 8]> {
    let mut bytes = [0; 8];
    for (n, byte) in bytes.iter_mut().enumerate() {
        let concrete = Byte::from(touch.value.to_le_bytes()[n]);
        *byte = match touch.numbers[n] {
            0 => concrete,
            number => {
                let expr = nodes.get(number as usize)?.0;
                match store.constant(expr) {
                    Some(_) => concrete,
                    None => expr.0.checked_add(256)?,
                }
            }
        };
    }
    Some(bytes)
}

/// What a run accessed, with the earlier run that it follows up to a segment.
#[derive(Debug)]
pub(crate) struct Line {
    /// The earlier run, and the last segment that is the same.
    before: Option<(Rc<Line>, u32)>,
    own: Accesses,
    of: FxHashMap<u64, Vec<u32>>,
    length: usize,
}

/// Bytes that may differ: the address of eight, and a bit for each of them.
pub(crate) type Differing = Vec<(u64, u8)>;

impl Line {
    /// The line of a run that follows another one up to the end of a segment.
    pub fn new(mut own: Accesses, before: Option<(Rc<Line>, u32)>) -> Line {
        let before = before.filter(|(line, upto)| own.inexact.min(line.own.inexact) > *upto);
        if let Some((_, upto)) = &before {
            let kept = own.rows.partition_point(|row| row.segment <= *upto);
            let values = own.rows.get(kept).map_or(own.values.len() as u32, |row| row.values);
            own.rows.drain(..kept);
            own.values.drain(..values as usize);
            own.rows.iter_mut().for_each(|row| row.values -= values);
            own.rows.shrink_to_fit();
            own.values.shrink_to_fit();
        }
        let mut of: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for (n, row) in own.rows.iter().enumerate() {
            of.entry(row.at).or_default().push(n as u32);
        }
        let length = before.as_ref().map_or(1, |(line, _)| line.length + 1);
        Line {
            before,
            own,
            of,
            length,
        }
    }

    /// Rows that are its own.
    pub fn own_rows(&self) -> usize {
        self.own.rows.len()
    }

    /// Whether everything is told that it accessed.
    pub fn is_whole(&self) -> bool {
        self.own.whole
    }

    /// Whether all that depends on input surely has expressions behind a segment.
    pub fn is_exact_after(&self, segment: u32) -> bool {
        segment.saturating_add(1) >= self.own.exact_from
    }

    /// Whether something opaque ran up to the end of a segment.
    pub fn is_opaque(&self, upto: u32) -> bool {
        self.own.opaque.first().is_some_and(|s| *s <= upto)
    }

    /// What more than one thread accessed.
    pub fn shared(&self) -> &FxHashSet<u64> {
        &self.own.shared
    }

    /// The parts of the line from the last one on, each with the last segment in which it counts.
    fn parts(&self, upto: u32) -> impl Iterator<Item = (&Line, u32)> {
        let mut next = Some((self, upto));
        std::iter::from_fn(move || {
            let (line, upto) = next?;
            next = line.before.as_ref().map(|(before, last)| (&**before, upto.min(*last)));
            Some((line, upto))
        })
    }

    /// The last segment that two runs have in common, if they have any.
    fn common(&self, other: &Line) -> Option<u32> {
        let (mut a, mut b) = (self, other);
        let mut upto = u32::MAX;
        while !std::ptr::eq(a, b) {
            let longer = if a.length >= b.length { &mut a } else { &mut b };
            let (before, last) = longer.before.as_ref()?;
            upto = upto.min(*last);
            *longer = before;
        }
        Some(upto)
    }

    /// The first segment in which two runs may differ.
    fn parting(&self, other: &Line) -> u32 {
        self.common(other).map_or(0, |last| last.saturating_add(1))
    }

    fn accesses(&self, at: u64, upto: u32) -> impl Iterator<Item = (&Line, &Access)> {
        self.parts(upto).flat_map(move |(line, upto)| {
            let rows = line.of.get(&at).map_or(&[][..], |rows| rows);
            let rows = rows.iter().rev().map(move |n| &line.own.rows[*n as usize]);
            rows.filter(move |row| row.segment <= upto).map(move |row| (line, row))
        })
    }

    /// The last observed value of each byte at the end of a segment.
    fn value(&self, at: u64, segment: u32) -> [Option<Byte>; 8] {
        let mut value = [None; 8];
        for (line, row) in self.accesses(at, segment).filter(|(_, row)| row.written != 0) {
            let bytes = line.own.values[row.values as usize];
            for (n, byte) in value.iter_mut().enumerate() {
                if byte.is_none() && row.written >> n & 1 == 1 {
                    *byte = Some(bytes[n]);
                }
            }
            if value.iter().all(Option::is_some) {
                break;
            }
        }
        value
    }

    /// Bytes of eight that are read behind a segment before they are written, and whether any is accessed.
    pub fn uses(&self, at: u64, after: u32) -> (u8, bool) {
        let (mut read, mut any) = (0, false);
        for (_, row) in self.accesses(at, u32::MAX).take_while(|(_, row)| row.segment > after) {
            // From the last one back: what is written here is not asked for further on.
            read = row.read | read & !row.written;
            any = true;
        }
        (read, any)
    }

    /// What is accessed in segments from one on, up to another, with the sum over what accessed it.
    fn accessed(&self, from: u32, to: u32) -> FxHashMap<u64, u64> {
        let mut all: FxHashMap<u64, u64> = FxHashMap::default();
        for row in self.between(from, to) {
            let sum = all.entry(row.at).or_default();
            *sum = sum.wrapping_add(row.statements);
        }
        all
    }

    /// What this run accessed by the end of a segment otherwise than another one by the end of one of its: by other
    /// statements, or when threads had asked something else of each other.
    pub fn newly_accessed(&self, here: u32, other: &Line, there: u32) -> FxHashSet<u64> {
        let from = self.parting(other);
        let theirs = other.accessed(from, there);
        let own = self.accessed(from, here).into_iter();
        own.filter(|(at, sum)| theirs.get(at) != Some(sum))
            .map(|(at, _)| at)
            .collect()
    }

    fn between(&self, from: u32, to: u32) -> impl Iterator<Item = &Access> {
        self.parts(to).flat_map(move |(line, upto)| {
            let start = line.own.rows.partition_point(|row| row.segment < from);
            line.own.rows[start..].iter().take_while(move |row| row.segment <= upto)
        })
    }

    /// The bytes that are not surely the same at the ends of a segment of this run and of one of another, ascending;
    /// `None` if there are more than so many times eight.
    pub fn differing(&self, here: u32, other: &Line, there: u32, most: usize) -> Option<Differing> {
        let from = self.parting(other);
        let written = self.between(from, here).chain(other.between(from, there));
        let changed: FxHashSet<u64> = written.filter(|row| row.written != 0).map(|row| row.at).collect();
        let mut differing = Differing::new();
        for at in changed {
            let (a, b) = (self.value(at, here), other.value(at, there));
            let mask = (0..8).fold(0, |mask, n| mask | u8::from(a[n] != b[n]) << n);
            if mask != 0 {
                if differing.len() == most {
                    return None;
                }
                differing.push((at, mask));
            }
        }
        differing.sort_unstable();
        Some(differing)
    }
}
