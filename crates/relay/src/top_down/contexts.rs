//! Which calls of a function get a context of their own, and which share one.

use super::{ALL_INSTRUCTIONS, Call, Context, Due, LEAST_CONTEXTS, Likeness, Work};
use crate::entering::Entering;
use crate::execution::{Entry, Summaries};
use crate::joined_entry::{join_entries, join_neighbours, join_threads, loss, widen};
use crate::observation::is_alone;
use crate::own_terms;
use crate::relative_lockset::RelativeLockset;
use crate::state::Threads;
use deadheat_ir::FunctionId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, HashSet, btree_map, hash_map};
use std::sync::Arc;

/// Entries for which a function is executed at most.
pub(super) const CONTEXTS: usize = 32;
/// Instructions of a function, times its entries.
const INSTRUCTIONS: usize = 12_000;
/// Times that the joined contexts of a function are executed again because they have grown, before nothing more is known in
/// them but locks, threads and what is known to others.
const GROWTHS: u32 = 4;
/// Instructions of a program, times those of each function.
const ALL_GROWTHS: usize = 2_000_000;
/// Times that they are executed again at most.
const MOST_GROWTHS: u32 = 32;

impl Work<'_> {
    /// Entries for which a function is executed at most: in a large program the least where one execution takes long.
    fn most(&self, function: FunctionId) -> usize {
        let own = self.subject.module[function].instructions.len().max(1);
        let each = ALL_INSTRUCTIONS / self.subject.instructions.max(1);
        let long = self.summaries.summary(function).is_some_and(|s| s.widened);
        match each < CONTEXTS && long {
            true => LEAST_CONTEXTS,
            false => (INSTRUCTIONS / own).min(each).clamp(LEAST_CONTEXTS, CONTEXTS),
        }
    }

    /// Times that joined contexts are executed again with all that is known in them.
    fn growths(&self) -> u32 {
        ((ALL_GROWTHS / self.subject.instructions.max(1)) as u32).clamp(1, GROWTHS)
    }

    /// Makes contexts of calls of a function.
    pub(super) fn choose(&mut self, function: FunctionId, calls: Vec<Call>, due: &mut Vec<Due>) {
        // Whatever is known already has been executed.
        let mut new: Vec<(Likeness, Call)> = Vec::new();
        let mut seen: FxHashMap<(usize, u128), usize> = FxHashMap::default();
        for call in calls {
            let identity = call.entering.identity();
            if let Some(number) = self.known.get(&(call.root, function, identity)) {
                self.found.contexts[*number as usize].certain |= call.certain;
                continue;
            }
            match seen.entry((call.root, identity)) {
                hash_map::Entry::Occupied(at) => new[*at.get()].1.certain |= call.certain,
                hash_map::Entry::Vacant(at) => {
                    at.insert(new.len());
                    new.push((self.likeness(function, &call), call));
                }
            }
        }
        let different = |new: &[(Likeness, Call)]| new.iter().map(|(l, _)| l).collect::<FxHashSet<_>>().len();
        let most = self.most(function);
        let left = most.saturating_sub(self.functions.entry(function).or_default().count);
        let fits = different(&new);
        if fits <= left && !self.functions.entry(function).or_default().crowded {
            self.functions.entry(function).or_default().count += fits;
            for (_, call) in new {
                let entering = call.entering.clone();
                self.context(function, call, entering, due);
            }
            return;
        }
        self.join(function, new, left, due);
    }

    /// A context of its own for a call.
    fn context(&mut self, function: FunctionId, call: Call, entering: Entering, due: &mut Vec<Due>) -> u32 {
        let number = self.found.contexts.len() as u32;
        self.found.contexts.push(Context {
            root: call.root,
            function,
            caller: call.caller,
            certain: call.certain,
        });
        self.known
            .insert((call.root, function, call.entering.identity()), number);
        due.push(Due {
            context: number,
            entering,
        });
        number
    }

    /// Joins calls of a function into `left` more entries: those with the same locks, then those that lose least.
    fn join(&mut self, function: FunctionId, new: Vec<(Likeness, Call)>, left: usize, due: &mut Vec<Due>) {
        let mut entered = std::mem::take(self.functions.entry(function).or_default());
        self.found.cut.functions += usize::from(entered.joined.is_empty());
        self.found.cut.contexts += new.len();
        let mut by_locks: BTreeMap<RelativeLockset, Vec<(Arc<Entry>, Call)>> = BTreeMap::new();
        // Each root brings the same.
        let mut own: FxHashMap<u128, Arc<Entry>> = FxHashMap::default();
        for (_, call) in new {
            let entering = &call.entering;
            let entry = own.entry(entering.likeness());
            let entry = Arc::clone(entry.or_insert_with(|| Arc::new(own_terms::of(entering.rest(), function))));
            by_locks.entry(entry.way.locks.clone()).or_default().push((entry, call));
        }
        let left = if entered.joined.is_empty() { left.max(1) } else { left };
        let is_known = |locks: &RelativeLockset| entered.joined.iter().any(|e| e.way.locks == *locks);
        let (known, mut others): (Vec<_>, Vec<_>) = by_locks.into_iter().partition(|(locks, _)| is_known(locks));
        // Where there is room for none, each goes to the entry that is most like it.
        if left > 0 {
            others = join_neighbours(others, left);
        }
        let mut grown: BTreeSet<usize> = BTreeSet::new();
        let mut roots: BTreeMap<(usize, usize), (Threads, Call)> = BTreeMap::new();
        for (locks, calls) in known.into_iter().chain(others) {
            let nearest = (0..entered.joined.len()).min_by_key(|n| loss(&entered.joined[*n].way.locks, &locks));
            let fits = |n: &usize| entered.joined[*n].way.locks == locks || entered.count >= self.most(function);
            let group = nearest.filter(fits).unwrap_or(entered.joined.len());
            for (entry, mut call) in calls {
                let threads = call.entering.threads.clone();
                let is_within = !entered.within.insert((group, call.entering.likeness()));
                match entered.joined.get_mut(group) {
                    None => {
                        entered.joined.push(Arc::unwrap_or_clone(entry));
                        entered.count += 1;
                        grown.insert(group);
                    }
                    Some(_) if is_within => {}
                    Some(known) => {
                        let mut both = join_entries(known, &entry, function);
                        let is_new = both != *known;
                        if is_new && entered.growths >= MOST_GROWTHS && !grown.contains(&group) {
                            self.found.cut.calls += 1;
                            entered.within.remove(&(group, call.entering.likeness()));
                        } else if is_new {
                            if entered.growths >= self.growths() {
                                widen(&mut both);
                            }
                            *known = both;
                            grown.insert(group);
                        }
                    }
                }
                match roots.entry((group, call.root)) {
                    btree_map::Entry::Vacant(at) => drop(at.insert((threads, call))),
                    btree_map::Entry::Occupied(mut at) => {
                        let (known, first) = at.get_mut();
                        *known = join_threads(known, &threads);
                        first.certain |= call.certain;
                        call.certain = first.certain;
                    }
                }
            }
        }
        entered.growths += u32::from(!grown.is_empty());
        for ((group, root), (threads, call)) in roots {
            let known = entered.contexts.get(&(group, root)).cloned();
            let all = known
                .as_ref()
                .map_or(threads.clone(), |(t, _)| join_threads(t, &threads));
            let mut entry = entered.joined[group].clone();
            entry.way.threads = all.clone();
            let entering = Entering::new(entry);
            let number = match known {
                None => {
                    let number = self.context(function, call, entering, due);
                    entered.contexts.insert((group, root), (all, number));
                    continue;
                }
                Some((before, number)) => {
                    self.found.contexts[number as usize].certain |= call.certain;
                    self.known.insert((root, function, call.entering.identity()), number);
                    if !grown.contains(&group) && before == all {
                        continue;
                    }
                    number
                }
            };
            entered.contexts.insert((group, root), (all, number));
            due.push(Due {
                context: number,
                entering,
            });
        }
        // What has grown has done so for all that enter it.
        let again: HashSet<u32> = due.iter().map(|d| d.context).collect();
        for ((group, root), (threads, number)) in &entered.contexts {
            if grown.contains(group) && !again.contains(number) {
                let mut entry = entered.joined[*group].clone();
                entry.way.threads = threads.clone();
                debug_assert_eq!(self.found.contexts[*number as usize].root, *root);
                due.push(Due {
                    context: *number,
                    entering: Entering::new(entry),
                });
            }
        }
        self.functions.insert(function, entered);
    }

    pub(super) fn likeness(&self, function: FunctionId, call: &Call) -> Likeness {
        let start = self.found.roots[call.root].key.start;
        (
            function,
            call.entering.likeness(),
            is_alone(start, &call.entering.threads),
        )
    }
}
