//@ expect: none
// Readers together, writers alone; both paths of std's futex lock.
use std::sync::{Arc, RwLock};
use std::thread;

fn main() {
    let table = Arc::new(RwLock::new(vec![0u32; 4]));
    let writers: Vec<_> = (0..2)
        .map(|n| {
            let table = table.clone();
            thread::spawn(move || (0..3).for_each(|_| table.write().unwrap()[n] += 1)) // MAY(hunt:a) the lock word orders; it is no lock to the hybrid rule
        })
        .collect();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let table = table.clone();
            thread::spawn(move || table.read().unwrap().iter().sum::<u32>()) // MAY(hunt:a) likewise
        })
        .collect();
    writers.into_iter().for_each(|t| t.join().unwrap());
    readers.into_iter().for_each(|t| assert!(t.join().unwrap() <= 6));
    assert_eq!(table.read().unwrap()[..2], [3, 3]);
}
