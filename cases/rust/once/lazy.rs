//@ expect: none
// Whoever comes second sees what the first made: Once, OnceLock, LazyLock.
use std::sync::{LazyLock, Once, OnceLock};
use std::thread;

static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2, 3]);
static CELL: OnceLock<String> = OnceLock::new();
static ONCE: Once = Once::new();
static mut TABLE: [u32; 2] = [0; 2];

fn look() -> usize {
    ONCE.call_once(|| unsafe { TABLE = [4, 5] });
    let table = unsafe { TABLE[0] + TABLE[1] } as usize;
    LAZY.len() + CELL.get_or_init(|| "name".to_string()).len() + table
}

fn main() {
    let threads: Vec<_> = (0..3).map(|_| thread::spawn(look)).collect();
    assert_eq!(look(), 16);
    threads.into_iter().for_each(|t| assert_eq!(t.join().unwrap(), 16));
}
