//@ expect: none
//@ with: counter.c
// A pthread mutex in C orders Rust's threads.
use std::thread;

unsafe extern "C" {
    fn add_guarded(total: *mut i64, n: i64);
}

static mut TOTAL: i64 = 0;

fn main() {
    let other = thread::spawn(|| unsafe { add_guarded(&raw mut TOTAL, 1) });
    unsafe { add_guarded(&raw mut TOTAL, 2) }
    other.join().unwrap();
    assert_eq!(unsafe { TOTAL }, 3);
}
