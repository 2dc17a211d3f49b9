//@ expect: harmful(use-after-free)
// A raw pointer outlives the box that it was made from.
use std::thread;
use std::time::Duration;

#[derive(Clone, Copy)]
struct Pointer(*mut [u64; 8]);
unsafe impl Send for Pointer {}

fn main() {
    let item = Pointer(Box::into_raw(Box::new([7; 8])));
    let reader = thread::spawn(move || {
        let Pointer(item) = { item };
        unsafe { (*item)[5] } // RACE!(a)
    });
    thread::sleep(Duration::from_millis(2)); // the ordinary run is well
    let owner = thread::spawn(move || {
        let Pointer(item) = { item };
        drop(unsafe { Box::from_raw(item) }); // RACE!(a)
    });
    reader.join().unwrap();
    owner.join().unwrap();
}
