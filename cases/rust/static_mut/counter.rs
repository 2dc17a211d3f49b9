//@ expect: real
// A static counter without a lock.
use std::thread;

static mut COUNT: u32 = 0;

fn count() {
    unsafe { COUNT += 1 } // RACE!(a)
}

fn main() {
    let other = thread::spawn(count);
    count();
    other.join().unwrap();
    println!("{}", unsafe { COUNT });
}
