//@ expect: none
// Each thread has its own, and its own end.
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

static ENDED: AtomicU32 = AtomicU32::new(0);

struct Log(Vec<u32>);
impl Drop for Log {
    fn drop(&mut self) {
        ENDED.fetch_add(self.0.len() as u32, Relaxed);
    }
}

thread_local! {
    static LOG: RefCell<Log> = const { RefCell::new(Log(Vec::new())) };
    static COUNT: Cell<u32> = Cell::new(0);
}

fn work() -> u32 {
    (0..3).for_each(|n| LOG.with_borrow_mut(|log| log.0.push(n)));
    COUNT.set(COUNT.get() + 1);
    COUNT.get()
}

fn main() {
    let threads: Vec<_> = (0..3).map(|_| thread::spawn(work)).collect();
    threads.into_iter().for_each(|t| assert_eq!(t.join().unwrap(), 1));
    assert_eq!(ENDED.load(Relaxed), 9);
}
