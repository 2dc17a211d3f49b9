//@ expect: real
//@ with: counter.c
// The accesses are C's, the threads are Rust's.
use std::thread;

unsafe extern "C" {
    fn add_bare(total: *mut i64, n: i64);
}

static mut TOTAL: i64 = 0;

fn add(n: i64) {
    unsafe { add_bare(&raw mut TOTAL, n) } // RACE!(a)
}

fn main() {
    let other = thread::spawn(|| add(1));
    add(2);
    other.join().unwrap();
    assert!(unsafe { TOTAL } > 0);
}
