//@ expect: none
// A panic under the lock poisons it; who takes it all the same is ordered.
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let value = Arc::new(Mutex::new(1));
    let theirs = value.clone();
    let other = thread::spawn(move || {
        let mut guard = theirs.lock().unwrap();
        *guard = 2;
        panic!("on purpose");
    });
    let seen = *value.lock().unwrap_or_else(|e| e.into_inner());
    assert!(seen == 1 || seen == 2);
    assert!(other.join().is_err());
    assert!(value.is_poisoned());
    assert_eq!(*value.lock().unwrap_or_else(|e| e.into_inner()), 2);
}
