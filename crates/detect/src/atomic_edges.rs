//! The edges of atomic operations and fences.
//!
//! An operation has two halves, so that its own access can be checked between them: a load is ordered
//! after what it acquires, and a store before what its thread does next.

use crate::atomics::{AtomicEvent, AtomicKind, Granule, Release};
use crate::happens_before::HappensBefore;
use crate::lock_word::{Change, Standing, TENTATIVE, Word};
use crate::vector_clock::Clocks;
use alloc::vec::Vec;
use deadheat_model::{LockMode, MemoryOrder, ObjectId, ObjectKind, ThreadId};

/// Lock words in freed memory that are remembered.
const FREED_WORDS: usize = 1 << 16;

impl HappensBefore {
    /// Both halves of an atomic operation whose access is not checked.
    pub fn atomic(&mut self, thread: ThreadId, event: AtomicEvent) {
        self.atomic_begin(thread, event);
        self.atomic_end(thread, event);
    }

    /// The first half: what the operation acquires. Returns the context of its access.
    pub fn atomic_begin(&mut self, thread: ThreadId, event: AtomicEvent) -> u32 {
        self.ensure(thread);
        let change = self.observe_words(&event);
        change.into_iter().for_each(|c| self.change_holds(thread, c));
        if event.reads() {
            self.read_edges(thread, &event);
        }
        self.context(thread, true)
    }

    /// Both halves of an atomic operation that is ordered after what it reads only if its thread waited for that
    /// (`waited`): a counter that threads share orders nothing.
    pub fn atomic_waited(&mut self, thread: ThreadId, event: AtomicEvent, waited: bool) {
        self.ensure(thread);
        let change = self.observe_words(&event);
        change.into_iter().for_each(|c| self.change_holds(thread, c));
        if event.reads() && waited {
            self.read_edges(thread, &event);
        }
        self.atomic_end(thread, event);
    }

    /// The second half: what the operation gives.
    pub fn atomic_end(&mut self, thread: ThreadId, event: AtomicEvent) {
        self.ensure(thread);
        if !event.writes() {
            return;
        }
        let releases = event.order.releases();
        let continues = event.kind != AtomicKind::Store;
        let fence = self.threads[thread.index()].release_fence.take();
        // First, since a write that shows the word to be no lock gives its edge.
        let change = self.act_on_words(thread, &event);
        let silent = self.silent(&event);
        for (granule, mask) in event.parts() {
            let headed = |g: &mut Granule| g.is_headed_by(mask, thread);
            let continues = continues || !releases && self.atomics.get_mut(granule).is_some_and(headed);
            if !releases && fence.is_none() {
                // Nothing to give: a store ends the sequence, a read-modify-write continues it.
                match self.atomics.get_mut(granule) {
                    Some(g) if !continues => g.clear(mask),
                    Some(g) if g.releases(mask).next().is_some() => {
                        g.write(mask, true);
                    }
                    _ => {}
                }
                continue;
            }
            let (g, own) = self.atomics.get_or_make(granule);
            let (mask, continues) = if own { (mask, continues) } else { (0xff, true) };
            let release = g.write(mask, continues);
            release.headed_by(thread);
            match &fence {
                Some(fence) if !releases => release.add_release(fence, !silent),
                _ => release.add(&self.threads[thread.index()].clocks, thread, !silent),
            }
        }
        self.threads[thread.index()].release_fence = fence;
        if releases {
            self.advance(thread, !silent);
        }
        change.into_iter().for_each(|c| self.change_holds(thread, c));
    }

    /// A stand-alone fence.
    pub fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        self.ensure(thread);
        if order.acquires() {
            let seen = core::mem::take(&mut self.threads[thread.index()].unfenced);
            self.learn(thread, &seen, None, true);
        }
        if order.releases() {
            let t = &mut self.threads[thread.index()];
            let mut release = t.release_fence.take().unwrap_or_default();
            release.clocks.copy_from(&t.clocks);
            let epochs = (t.clocks.hybrid.get(thread), t.clocks.full.get(thread));
            release.owner = Some((thread, epochs.0, epochs.1));
            t.release_fence = Some(release);
            self.advance(thread, true);
        }
    }

    /// The bytes hold another object from now on: freed, or a thread's stack gone.
    pub fn forgotten(&mut self, address: u64, len: u64) {
        let mut holds = Vec::new();
        let learned = &mut self.freed_words;
        self.atomics.forget(address, len, &mut |word| {
            if word.standing == Standing::Confirmed && learned.len() < FREED_WORDS {
                learned.insert(word.address);
            }
            if let Some(holder) = word.holder {
                holds.push((holder, word.lock));
            }
        });
        for (holder, lock) in holds {
            self.drop_hold(holder, lock, LockMode::Write);
        }
    }

    /// Words known to be hand-made locks from an earlier run of the same execution.
    pub fn know_lock_words(&mut self, words: &[u64]) {
        self.known_words.extend(words);
    }

    /// Words learned to be hand-made locks, ascending.
    pub fn lock_words(&self) -> Vec<u64> {
        let words = self.atomics.granules().flat_map(|g| &g.words);
        let mut confirmed: Vec<u64> = words
            .filter(|w| w.standing == Standing::Confirmed)
            .map(|w| w.address)
            .collect();
        confirmed.extend(&self.freed_words);
        confirmed.sort_unstable();
        confirmed.dedup();
        confirmed
    }

    /// Hybrid edges that were given by words before they were known to be locks. If not 0, a run that
    /// knows the words from the start may find more.
    pub fn learned_late(&self) -> u64 {
        self.learned_late
    }

    fn read_edges(&mut self, thread: ThreadId, event: &AtomicEvent) {
        let acquires = event.effective_order().acquires();
        let hybrid = !self.silent(event);
        let mut learned = false;
        for (granule, mask) in event.parts() {
            // Taken out for the time, so that the thread can be changed; a clock is not copied.
            let Some(place) = self.atomics.place(granule) else {
                continue;
            };
            let g = core::mem::take(self.atomics.at(place));
            for release in g.releases(mask) {
                if acquires {
                    learned |= self.learn(thread, &release.clocks, release.owner, hybrid);
                } else {
                    keep_for_fence(&mut self.threads[thread.index()].unfenced, release, hybrid);
                }
            }
            *self.atomics.at(place) = g;
        }
        if learned
            && let Some(g) = self.atomics.get_mut(event.address & !7)
            && let Some(word) = g.words.iter_mut().find(|w| w.is_at(event))
            && word.standing == Standing::Tentative
        {
            word.edges += 1;
        }
    }

    /// Whether the operation is on a hand-made lock, which gives no hybrid edge.
    fn silent(&mut self, event: &AtomicEvent) -> bool {
        let granule = event.address & !7;
        let word = self
            .atomics
            .get_mut(granule)
            .and_then(|g| g.words.iter().find(|w| w.is_at(event)));
        match word {
            Some(word) => word.standing == Standing::Confirmed,
            None => !self.known_words.is_empty() && self.known_words.contains(&event.address),
        }
    }

    fn observe_words(&mut self, event: &AtomicEvent) -> Vec<Change> {
        let mut changes = Vec::new();
        for (granule, _) in event.parts() {
            let Some(g) = self.atomics.get_mut(granule) else {
                continue;
            };
            for word in g.words.iter_mut().filter(|w| w.overlaps(event)) {
                let before = word.standing;
                let change = word.observe(event);
                if change != Change::None {
                    changes.push(change);
                }
                if before == Standing::Tentative && word.standing == Standing::Confirmed {
                    self.learned_late += word.edges;
                }
            }
        }
        changes
    }

    fn act_on_words(&mut self, thread: ThreadId, event: &AtomicEvent) -> Option<Change> {
        let granule = event.address & !7;
        let known = self.known_words.contains(&event.address);
        if let Some(g) = self.atomics.get_mut(granule)
            && let Some(word) = g.words.iter_mut().find(|w| w.is_at(event))
        {
            return Some(word.act(event, thread)).filter(|c| *c != Change::None);
        }
        let object = ObjectId {
            address: event.address,
            generation: 0,
        };
        let locks = &mut self.locks;
        let word = Word::first_taken(event, thread, known, || locks.make(ObjectKind::LockWord, object))?;
        let (lock, tentative) = (word.lock, word.standing == Standing::Tentative);
        let (g, own) = self.atomics.get_or_make(granule);
        if !own || g.words.iter().any(|w| w.overlaps(event)) {
            return None;
        }
        g.words.push(word);
        if tentative {
            self.note_tentative(thread, event.address);
        }
        Some(Change::Taken(lock))
    }

    /// Keeps the thread's newest tentative words and gives up an older one.
    fn note_tentative(&mut self, thread: ThreadId, address: u64) {
        let list = &mut self.threads[thread.index()].tentative;
        list.push(address);
        if list.len() <= TENTATIVE {
            return;
        }
        let old = list.remove(0);
        let mut dropped = None;
        if let Some(g) = self.atomics.get_mut(old & !7) {
            g.words.retain(|w| {
                let gone = w.address == old && w.standing == Standing::Tentative && w.holder == Some(thread);
                if gone {
                    dropped = Some(w.lock);
                }
                !gone
            });
        }
        if let Some(lock) = dropped {
            self.drop_hold(thread, lock, LockMode::Write);
        }
    }

    fn change_holds(&mut self, thread: ThreadId, change: Change) {
        match change {
            Change::None => {}
            Change::Taken(lock) => drop(self.hold(thread, lock, LockMode::Write)),
            Change::Dropped(holder, lock) => drop(self.drop_hold(holder, lock, LockMode::Write)),
        }
    }
}

fn keep_for_fence(unfenced: &mut Clocks, release: &Release, hybrid: bool) {
    unfenced.full.join(&release.clocks.full);
    if hybrid {
        unfenced.hybrid.join(&release.clocks.hybrid);
    }
}
