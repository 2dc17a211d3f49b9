//@ expect: real
// A pointer to one thread's own value reaches another thread.
use std::cell::Cell;
use std::thread;

thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });

struct Pointer(*const Cell<u32>);
unsafe impl Send for Pointer {}

fn main() {
    let mine = Pointer(COUNT.with(|c| c as *const _));
    let other = thread::spawn(move || {
        let Pointer(count) = { mine };
        unsafe { (*count).set(7) } // RACE!(a)
    });
    let seen = COUNT.get(); // RACE!(a)
    other.join().unwrap();
    assert!(seen == 0 || seen == 7);
}
