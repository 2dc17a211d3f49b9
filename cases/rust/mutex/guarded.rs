//@ expect: none
// Fast and slow path of std's mutex: clang's sanitizer reports false races here, since std itself has no sites.
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let total = Arc::new(Mutex::new(0u64));
    let threads: Vec<_> = (0..3)
        .map(|n| {
            let total = total.clone();
            thread::spawn(move || {
                for _ in 0..4 {
                    *total.lock().unwrap() += n;
                    thread::yield_now();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*total.lock().unwrap(), 12);
}
