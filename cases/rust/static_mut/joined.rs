//@ expect: none
// Creation and join order everything.
use std::thread;

static mut VALUE: u32 = 0;

fn main() {
    unsafe { VALUE = 1 }
    let first = thread::spawn(|| unsafe { VALUE += 1 });
    first.join().unwrap();
    let second = thread::spawn(|| unsafe { VALUE += 1 });
    second.join().unwrap();
    assert_eq!(unsafe { VALUE }, 3);
}
