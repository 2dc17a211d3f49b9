//@ expect: none
// A wait that ends by its time-out holds the lock again.
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

static COUNT: Mutex<u32> = Mutex::new(0);
static NEVER: Condvar = Condvar::new();

fn wait() {
    let (mut count, result) = NEVER.wait_timeout(COUNT.lock().unwrap(), Duration::from_millis(1)).unwrap();
    assert!(result.timed_out());
    *count += 1;
}

fn main() {
    let other = thread::spawn(wait);
    wait();
    other.join().unwrap();
    assert_eq!(*COUNT.lock().unwrap(), 2);
}
