//@ expect: none
// Release and acquire, by store, swap, compare-exchange, and maximum.
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use std::thread;

static FLAG: AtomicU32 = AtomicU32::new(0);
static SLOT: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
static mut VALUE: u32 = 0;

fn main() {
    let maker = thread::spawn(|| {
        unsafe { VALUE = 1 }
        FLAG.fetch_max(3, Release);
        let old = SLOT.swap(Box::into_raw(Box::new(2)), AcqRel);
        assert!(old.is_null());
    });
    while FLAG.load(Acquire) != 3 {
        thread::yield_now();
    }
    assert_eq!(unsafe { VALUE }, 1);
    let mut got: *mut u32 = std::ptr::null_mut();
    while got.is_null() {
        got = SLOT.swap(std::ptr::null_mut(), Acquire);
        thread::yield_now();
    }
    assert_eq!(*unsafe { Box::from_raw(got) }, 2);
    maker.join().unwrap();
}
