//@ expect: harmful(panic)
//@ flags: -Cpanic=abort
// The same without unwinding: the panic ends in an abort.
use std::thread;
use std::time::Duration;

static mut STATE: u32 = 0;

fn main() {
    let other = thread::spawn(|| {
        thread::sleep(Duration::from_millis(200));
        unsafe { STATE = 1 } // RACE!(a)
    });
    let seen = unsafe { STATE }; // RACE!(a)
    if seen != 0 {
        panic!("the other was faster");
    }
    other.join().unwrap();
    assert_eq!(unsafe { STATE }, 1);
}
