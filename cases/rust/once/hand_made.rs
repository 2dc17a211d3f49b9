//@ expect: real
// Initialisation behind a relaxed flag.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

static DONE: AtomicBool = AtomicBool::new(false);
static mut TABLE: u32 = 0;

fn main() {
    let maker = thread::spawn(|| {
        unsafe { TABLE = 7 } // RACE!(a)
        DONE.store(true, Relaxed);
    });
    while !DONE.load(Relaxed) {
        thread::yield_now();
    }
    let seen = unsafe { TABLE }; // RACE!(a)
    maker.join().unwrap();
    assert_eq!(seen, 7);
}
