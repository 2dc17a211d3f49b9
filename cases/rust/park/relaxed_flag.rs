//@ expect: real
// Who sees the flag before it ever parks has taken no token: the relaxed flag orders nothing.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static mut MESSAGE: u32 = 0;

fn main() {
    let waiter = thread::spawn(|| {
        while !READY.load(Relaxed) {
            thread::park();
        }
        unsafe { MESSAGE } // RACE!(a)
    });
    unsafe { MESSAGE = 5 } // RACE!(a)
    READY.store(true, Relaxed);
    waiter.thread().unpark();
    assert_eq!(waiter.join().unwrap(), 5);
}
