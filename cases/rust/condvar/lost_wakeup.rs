//@ expect: lost-wakeup
// The flag changes without the lock, between the waiter's look and its wait.
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

fn main() {
    for _ in 0..9 {
        READY.store(false, SeqCst);
        let waiter = thread::spawn(|| {
            let mut held = LOCK.lock().unwrap();
            while !READY.load(SeqCst) {
                thread::yield_now(); // it takes its time
                held = CHANGED.wait(held).unwrap();
            }
        });
        READY.store(true, SeqCst);
        CHANGED.notify_one();
        waiter.join().unwrap();
    }
}
