//@ expect: none
// Each phase reads what the other thread wrote in the last.
use std::sync::Barrier;
use std::thread;

static mut CELLS: [u32; 2] = [0; 2];

fn main() {
    let barrier = Barrier::new(2);
    let work = |me: usize| {
        for round in 1..4 {
            unsafe { CELLS[me] = round } // MAY(hunt:a) who comes last gets its order from the barrier's lock alone
            barrier.wait();
            assert_eq!(unsafe { CELLS[1 - me] }, round); // MAY(hunt:a) likewise
            barrier.wait();
        }
    };
    thread::scope(|s| {
        s.spawn(|| work(0));
        work(1);
    });
}
