//! What many hold alike, held once.
//!
//! A large program has millions of classes of accesses with some ten thousand paths, some thousand sets of locks and some
//! hundred sets of threads among them. Whoever shares one compares it by its address first.

use rustc_hash::{FxBuildHasher, FxHashSet};
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, PoisonError};

/// Parts that are locked by themselves.
const PARTS: usize = 16;

/// All that is held once.
#[derive(Debug)]
pub(crate) struct Interned<T> {
    parts: [Mutex<FxHashSet<Arc<T>>>; PARTS],
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Interned {
            parts: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl<T: Eq + Hash> Interned<T> {
    /// What is held for a value.
    pub(crate) fn get(&self, value: &T) -> Arc<T>
    where
        T: Clone,
    {
        self.share(value, || Arc::new(value.clone()))
    }

    /// What is held for what somebody holds.
    pub(crate) fn shared(&self, value: &Arc<T>) -> Arc<T> {
        self.share(value, || Arc::clone(value))
    }

    fn share(&self, value: &T, new: impl Fn() -> Arc<T>) -> Arc<T> {
        let part = FxBuildHasher.hash_one(value) as usize >> 8;
        let mut part = self.parts[part % PARTS].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = part.get(value) {
            return Arc::clone(known);
        }
        let new = new();
        part.insert(Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_are_one() {
        let all: Interned<Vec<u32>> = Interned::default();
        let (one, other) = (all.get(&vec![1, 2]), all.shared(&Arc::new(vec![1, 2])));
        assert!(Arc::ptr_eq(&one, &other));
        assert!(!Arc::ptr_eq(&one, &all.get(&vec![2])));
    }
}
