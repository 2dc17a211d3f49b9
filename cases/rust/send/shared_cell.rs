//@ expect: real
// A Cell shared by force.
use std::cell::Cell;
use std::thread;

struct Shared(Cell<u32>);
unsafe impl Sync for Shared {}

static COUNT: Shared = Shared(Cell::new(0));

fn main() {
    let other = thread::spawn(|| COUNT.0.set(1)); // RACE!(a)
    let seen = COUNT.0.get(); // RACE!(a)
    other.join().unwrap();
    std::hint::black_box(seen);
    std::hint::black_box(&COUNT);
}
