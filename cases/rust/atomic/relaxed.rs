//@ expect: real
// A pointer published without release.
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::thread;

static SLOT: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());

fn main() {
    let maker = thread::spawn(|| {
        let item = Box::into_raw(Box::<u32>::new_uninit()).cast();
        unsafe { *item = 4 } // RACE!(a)
        SLOT.store(item, Relaxed);
    });
    let item = loop {
        let item = SLOT.load(Relaxed);
        if !item.is_null() {
            break item;
        }
        thread::yield_now();
    };
    let seen = unsafe { *item }; // RACE!(a)
    maker.join().unwrap();
    assert_eq!(seen, 4);
}
