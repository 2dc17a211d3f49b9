//@ expect: real
// The sender goes on writing to what it has sent.
use std::sync::mpsc::channel;
use std::thread;

struct Pointer(*mut u32);
unsafe impl Send for Pointer {}

fn main() {
    let (sender, receiver) = channel();
    let item = Box::into_raw(Box::new(1u32));
    let reader = thread::spawn(move || {
        let Pointer(item) = receiver.recv().unwrap();
        unsafe { *item } // RACE!(a)
    });
    sender.send(Pointer(item)).unwrap();
    unsafe { *item = 2 } // RACE!(a)
    assert!(reader.join().unwrap() > 0);
    drop(unsafe { Box::from_raw(item) });
}
