//@ expect: none
// Relaxed accesses between fences; clang's sanitizer does not know fences.
use std::sync::atomic::{AtomicBool, Ordering::*, fence};
use std::thread;

static FLAG: AtomicBool = AtomicBool::new(false);
static mut VALUE: u32 = 0;

fn main() {
    let maker = thread::spawn(|| {
        unsafe { VALUE = 1 }
        fence(Release);
        FLAG.store(true, Relaxed);
    });
    while !FLAG.load(Relaxed) {
        thread::yield_now();
    }
    fence(Acquire);
    assert_eq!(unsafe { VALUE }, 1);
    maker.join().unwrap();
}
