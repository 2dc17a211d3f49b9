//! In which order candidates are tried, and which are tried together.
//!
//! Thousands of candidates are the consequences of few causes: a context that two threads may use at once gives
//! a candidate for every two statements that touch it. One hypothesis is *these two functions race for this
//! object*; an object is the variable, or all heap blocks that one stack allocated. The order asks each
//! hypothesis once before it asks any twice: pairs that some schedule left unordered, locks counted, come
//! first; then those that locks ordered in every schedule so far. In each class first come one candidate of each
//! object, then one of each further pair of functions (round the objects), then the others (round the
//! causes). Among equals come first those that fewer schedules have shown to be ordered.
//!
//! Where there are more than [`MANY`] of the second class, a try is directed at several candidates of one object at
//! once ([`Together`]); one that meets there gets tries of its own. The sizes depend on the candidates
//! alone, not on the machine's speed, so that a hunt that ends by itself repeats.
//!
//! Cost: sorting, n log n in the candidates.

use crate::candidate::Candidate;
use crate::site_index::SiteIndex;
use deadheat_wire::record::Memory;
use std::collections::{BTreeMap, HashMap};

/// So many candidates that locks ordered are each tried alone.
const MANY: usize = 100;
/// Most candidates that a try is directed at.
const MOST_TOGETHER: usize = 64;
/// Return addresses of an allocation that tell one object from another.
const ALLOCATION_FRAMES: usize = 6;

/// What a candidate's bytes belong to, the same in every run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Object {
    /// Blocks allocated by one stack.
    Heap(Vec<u64>),
    /// The local variables of one frame, by its frame pointer.
    Stack(u64),
    /// A thread-local variable, by its offset.
    ThreadLocal(i64),
    /// A mapped file, or the 64 bytes around in anonymous memory.
    Mapping(String, u64),
    /// A static variable, by its start, or the 64 bytes around where there is no symbol.
    Static(u64),
}

impl Object {
    fn of(candidate: &Candidate, sites: &SiteIndex) -> Object {
        let (a, b) = (&candidate.pair.first.access.bytes, &candidate.pair.second.access.bytes);
        match &candidate.pair.memory {
            Memory::Heap { stack, .. } => Object::Heap(stack.iter().take(ALLOCATION_FRAMES).copied().collect()),
            Memory::Stack { frames, .. } => Object::Stack(frames.first().map_or(0, |frame| frame.frame)),
            Memory::ThreadLocal { offset, .. } => Object::ThreadLocal(*offset),
            Memory::Mapping { path, .. } if path.is_empty() => {
                Object::Mapping(String::new(), a.start.max(b.start) & !63)
            }
            Memory::Mapping { path, .. } => Object::Mapping(path.clone(), 0),
            Memory::Static => {
                let address = a.start.max(b.start);
                let loaded = candidate.context.loaded().map(|(number, _, bias)| (number, bias));
                let start = sites.variable(loaded, address);
                Object::Static(start.unwrap_or(address & !63))
            }
        }
    }
}

/// Which candidates are tried when, by their indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Candidates that are tried alone, in this order.
    pub alone: Vec<usize>,
    /// Candidates that are tried together, in this order.
    pub together: Vec<Vec<usize>>,
    /// The number of each candidate's cause.
    pub causes: Vec<usize>,
    /// How many different causes there are.
    pub different: usize,
}

/// What one candidate is ordered by.
struct Rank {
    precise: bool,
    seen: u32,
    object: usize,
    cause: usize,
}

/// The order of these candidates.
pub fn order(candidates: &[Candidate], sites: &SiteIndex) -> Order {
    let (mut objects, mut causes) = (HashMap::new(), HashMap::new());
    let mut ranks = Vec::new();
    for candidate in candidates {
        let next = objects.len();
        let object = *objects.entry(Object::of(candidate, sites)).or_insert(next);
        let (a, b) = (&candidate.first.function, &candidate.second.function);
        let next = causes.len();
        let cause = *causes.entry((object, a.min(b), a.max(b))).or_insert(next);
        ranks.push(Rank {
            precise: candidate.precise,
            seen: candidate.seen,
            object,
            cause,
        });
    }
    arranged(&ranks)
}

fn arranged(ranks: &[Rank]) -> Order {
    let all = turns(ranks);
    let ordered = all.iter().filter(|i| !ranks[**i].precise).count();
    let causes = ranks.iter().map(|r| r.cause).collect();
    let different = ranks.iter().map(|r| r.cause + 1).max().unwrap_or(0);
    if ordered <= MANY {
        return Order {
            alone: all,
            causes,
            different,
            ..Order::default()
        };
    }
    // The first of each object stay alone: where there are more objects than that, so many of them.
    let size = ordered.div_ceil(MANY).min(MOST_TOGETHER);
    let (mut alone, mut rest) = (Vec::new(), BTreeMap::<usize, Vec<usize>>::new());
    let mut met = std::collections::HashSet::new();
    for index in all {
        let rank = &ranks[index];
        if rank.precise || (met.len() < MANY && met.insert(rank.object)) {
            alone.push(index);
        } else {
            rest.entry(rank.object).or_default().push(index);
        }
    }
    // Round the objects again: the first group of each, the second of each, and so on.
    let mut groups: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    for (object, members) in rest {
        let chunks = members.chunks(size).enumerate();
        groups.extend(chunks.map(|(n, chunk)| (n, object, chunk.to_vec())));
    }
    groups.sort();
    Order {
        alone,
        together: groups.into_iter().map(|(_, _, group)| group).collect(),
        causes,
        different,
    }
}

/// All candidates by turns.
fn turns(ranks: &[Rank]) -> Vec<usize> {
    let mut by_cause: BTreeMap<(bool, usize, usize), Vec<usize>> = BTreeMap::new();
    for (index, r) in ranks.iter().enumerate() {
        by_cause.entry((!r.precise, r.object, r.cause)).or_default().push(index);
    }
    let mut keyed = Vec::new();
    let mut causes_of: HashMap<(bool, usize), usize> = HashMap::new();
    for ((ordered, object, _), mut members) in by_cause {
        members.sort_by_key(|i| (ranks[*i].seen, *i));
        let nth_cause = causes_of.entry((ordered, object)).or_insert(0);
        for (nth_member, index) in members.into_iter().enumerate() {
            keyed.push((ordered, nth_member, *nth_cause, index));
        }
        *nth_cause += 1;
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, _, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(precise: bool, object: usize, cause: usize) -> Rank {
        Rank {
            precise,
            seen: 1,
            object,
            cause,
        }
    }

    #[test]
    fn each_hypothesis_is_asked_once_before_any_is_asked_twice() {
        let ranks = [
            rank(false, 0, 0),
            rank(false, 0, 0),
            rank(false, 0, 1),
            rank(false, 1, 2),
            rank(true, 1, 2),
            rank(true, 1, 2),
        ];
        let order = arranged(&ranks);
        assert_eq!(order.alone, [4, 5, 0, 3, 2, 1]);
        assert_eq!((order.together.len(), order.different), (0, 3));
    }

    #[test]
    fn what_fewer_schedules_ordered_comes_first() {
        let mut ranks = [rank(false, 0, 0), rank(false, 0, 0)];
        ranks[0].seen = 9;
        assert_eq!(arranged(&ranks).alone, [1, 0]);
    }

    #[test]
    fn thousands_on_one_object_are_tried_together() {
        let mut ranks: Vec<Rank> = (0..2000).map(|n| rank(false, 0, n % 50)).collect();
        ranks.extend([rank(true, 0, 0), rank(false, 1, 50)]);
        let order = arranged(&ranks);
        assert_eq!(order.alone, [2000, 0, 2001]);
        assert_eq!(order.together.len(), 1999_usize.div_ceil(2001_usize.div_ceil(MANY)));
        let members: usize = order.together.iter().map(Vec::len).sum();
        assert_eq!(members, 1999);
    }
}
