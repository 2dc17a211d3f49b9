//@ expect: none
// What goes through a channel is the receiver's: unbounded, bounded, and rendezvous.
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

fn main() {
    let (unbounded, from_unbounded) = channel::<Box<u32>>();
    let (bounded, from_bounded) = sync_channel::<Box<u32>>(1);
    let (meeting, from_meeting) = sync_channel::<Box<u32>>(0);
    let maker = thread::spawn(move || {
        for n in 0..3 {
            unbounded.send(Box::new(n)).unwrap();
            bounded.send(Box::new(n)).unwrap();
            meeting.send(Box::new(n)).unwrap(); // MAY(hunt:a) MAY(hunt:b) ordered by the lock of the rendezvous
        }
    });
    let mut sum = 0;
    for _ in 0..3 {
        let (first, second) = (from_unbounded.recv().unwrap(), from_bounded.recv().unwrap()); // MAY(hunt:b) likewise: what a receiver waits with
        let third = from_meeting.recv().unwrap(); // MAY(hunt:a) likewise
        for mut item in [first, second, third] {
            *item += 1;
            sum += *item;
        }
    }
    maker.join().unwrap();
    assert_eq!(sum, 18);
}
