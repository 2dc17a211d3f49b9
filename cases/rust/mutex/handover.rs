//@ expect: real
// The race that a mutex's hand-over hides where the first thread is through before the second enters: std's
// lock word is a lock, not just an atomic that orders.
use std::sync::Mutex;
use std::thread;

static GUARDED: Mutex<u32> = Mutex::new(0);
static mut SHARED: u32 = 0;

fn touch() {
    unsafe { SHARED += 1 } // RACE!(a)
}

fn main() {
    let other = thread::spawn(|| {
        touch();
        *GUARDED.lock().unwrap() += 1;
    });
    *GUARDED.lock().unwrap() += 1;
    touch();
    other.join().unwrap();
    assert!(unsafe { SHARED } > 0);
}
