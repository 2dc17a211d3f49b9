//@ expect: real
// The end of a channel orders nothing: std's unbounded receiver reads the mark of the last sender's end relaxed,
// with a fence only before it. What was sent is ordered, and so is all after a join.
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

static mut LAST: u32 = 0;

fn main() {
    let (sender, receiver) = channel::<u32>();
    let maker = thread::spawn(move || {
        sender.send(1).unwrap();
        unsafe { LAST = 2 } // RACE!(a)
        drop(sender);
    });
    let mut sum = 0;
    loop {
        match receiver.recv_timeout(Duration::from_secs(60)) {
            Ok(n) => sum += n,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    assert_eq!((sum, unsafe { LAST }), (1, 2)); // RACE!(a)
    maker.join().unwrap();
}
