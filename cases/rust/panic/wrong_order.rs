//@ expect: harmful(panic)
// One order of the two statements ends in a panic, status 101.
use std::thread;
use std::time::Duration;

static mut STATE: u32 = 0;

fn main() {
    let other = thread::spawn(|| {
        thread::sleep(Duration::from_millis(200));
        unsafe { STATE = 1 } // RACE!(a)
    });
    let seen = unsafe { STATE }; // RACE!(a)
    assert_eq!(seen, 0, "the other was faster");
    other.join().unwrap();
    assert_eq!(unsafe { STATE }, 1);
}
