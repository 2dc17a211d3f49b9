//@ expect: none
// A panic goes through join with what the thread did before; drops run on the way.
use std::thread;

static mut STEPS: u32 = 0;

struct Step;
impl Drop for Step {
    fn drop(&mut self) {
        unsafe { STEPS += 1 }
    }
}

fn main() {
    let other = thread::spawn(|| {
        let _step = Step;
        unsafe { STEPS += 1 }
        std::panic::panic_any(7u32);
    });
    let payload = other.join().unwrap_err();
    assert_eq!(payload.downcast_ref::<u32>(), Some(&7));
    assert_eq!(unsafe { STEPS }, 2);
    assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
}
