//@ expect: none
// A spin lock of one's own.
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;

static LOCKED: AtomicBool = AtomicBool::new(false);
static mut COUNT: u32 = 0;

fn count() {
    for _ in 0..3 {
        while LOCKED.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            std::hint::spin_loop();
        }
        unsafe { COUNT += 1 }
        LOCKED.store(false, Release);
    }
}

fn main() {
    let other = thread::spawn(count);
    count();
    other.join().unwrap();
    assert_eq!(unsafe { COUNT }, 6);
}
