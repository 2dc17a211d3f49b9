//@ expect: none
// Collections and formatting under a mutex: std's generic code has sites of its own in this crate.
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::thread;

static NAMES: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

fn main() {
    let counts = Mutex::new(HashMap::new());
    thread::scope(|s| {
        for n in 0..3usize {
            let counts = &counts;
            s.spawn(move || {
                for k in 0..6 {
                    *counts.lock().unwrap().entry(format!("key {k}")).or_insert(0) += n;
                    NAMES.lock().unwrap().insert(format!("{n}.{k}"), k);
                }
            });
        }
    });
    assert_eq!(counts.into_inner().unwrap().values().sum::<usize>(), 18);
    assert_eq!(NAMES.lock().unwrap().len(), 18);
}
