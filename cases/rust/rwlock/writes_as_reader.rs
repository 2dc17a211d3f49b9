//@ expect: real
// A shared guard, and a write behind it.
use std::cell::UnsafeCell;
use std::sync::RwLock;
use std::thread;

struct Hits(UnsafeCell<u32>);
unsafe impl Sync for Hits {}

static TABLE: RwLock<[u32; 2]> = RwLock::new([1, 2]);
static HITS: Hits = Hits(UnsafeCell::new(0));

fn look(n: usize) -> u32 {
    let table = TABLE.read().unwrap();
    for _ in 0..4 {
        unsafe { *HITS.0.get() += 1 } // RACE!(a)
        thread::yield_now();
    }
    table[n]
}

fn main() {
    let other = thread::spawn(|| look(0));
    let sum = look(1);
    assert_eq!(sum + other.join().unwrap(), 3);
    assert!(unsafe { *HITS.0.get() } > 0);
}
