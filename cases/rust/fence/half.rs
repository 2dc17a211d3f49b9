//@ expect: real
// The reader's fence is missing.
use std::sync::atomic::{AtomicBool, Ordering::*, fence};
use std::thread;

static FLAG: AtomicBool = AtomicBool::new(false);
static mut VALUE: u32 = 0;

fn main() {
    let maker = thread::spawn(|| {
        unsafe { VALUE = 1 } // RACE!(a)
        fence(Release);
        FLAG.store(true, Relaxed);
    });
    while !FLAG.load(Relaxed) {
        thread::yield_now();
    }
    let seen = unsafe { VALUE }; // RACE!(a)
    maker.join().unwrap();
    assert_eq!(seen, 1);
}
