//@ expect: none
// unpark happens before the park that takes its token.
use std::thread;

static mut MESSAGE: u32 = 0;

fn main() {
    let waiter = thread::spawn(|| {
        thread::park();
        unsafe { MESSAGE }
    });
    unsafe { MESSAGE = 5 }
    waiter.thread().unpark();
    assert_eq!(waiter.join().unwrap(), 5);
}
