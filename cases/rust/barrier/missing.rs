//@ expect: real
// The second barrier of the round is missing: a fast thread writes while the slow one still reads.
use std::sync::Barrier;
use std::thread;

static mut CELLS: [u32; 2] = [0; 2];

fn main() {
    let barrier = Barrier::new(2);
    let work = |me: usize| {
        let mut seen = 0;
        for round in 1..3 {
            unsafe { CELLS[me] = round } // RACE!(a)
            barrier.wait();
            seen += unsafe { CELLS[1 - me] }; // RACE!(a)
        }
        seen
    };
    thread::scope(|s| {
        s.spawn(|| assert!(work(0) > 0));
        assert!(work(1) > 0);
    });
}
