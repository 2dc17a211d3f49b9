//@ expect: real
// A volatile flag is no atomic.
use std::thread;

static mut DONE: bool = false;

fn main() {
    let other = thread::spawn(|| unsafe { (&raw mut DONE).write_volatile(true) }); // RACE!(a)
    while !unsafe { (&raw const DONE).read_volatile() } { // RACE!(a)
        std::hint::spin_loop();
    }
    other.join().unwrap();
}
