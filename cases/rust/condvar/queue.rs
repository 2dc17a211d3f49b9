//@ expect: none
// A bounded queue.
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

struct Queue {
    items: Mutex<VecDeque<u32>>,
    changed: Condvar,
}

fn main() {
    let queue = Arc::new(Queue { items: Mutex::new(VecDeque::new()), changed: Condvar::new() });
    let theirs = queue.clone();
    let consumer = thread::spawn(move || {
        let mut sum = 0;
        for _ in 0..6 {
            let mut items = theirs.items.lock().unwrap();
            while items.is_empty() {
                items = theirs.changed.wait(items).unwrap();
            }
            sum += items.pop_front().unwrap();
            theirs.changed.notify_all();
        }
        sum
    });
    for n in 0..6 {
        let mut items = queue.changed.wait_while(queue.items.lock().unwrap(), |i| i.len() > 1).unwrap();
        items.push_back(n);
        queue.changed.notify_all();
    }
    assert_eq!(consumer.join().unwrap(), 15);
}
