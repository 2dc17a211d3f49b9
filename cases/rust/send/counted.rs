//@ expect: real
// A counter that only one thread may have, sent by force; the values are leaked, so nothing is freed twice.
use std::rc::Rc;
use std::thread;

struct Sent(Rc<u32>);
unsafe impl Send for Sent {}
unsafe impl Sync for Sent {}

fn share(all: &Sent) {
    std::mem::forget(all.0.clone()); // RACE!(a)
}

fn main() {
    let all = Sent(Rc::new(1));
    thread::scope(|s| {
        s.spawn(|| share(&all));
        share(&all);
    });
    assert!(Rc::strong_count(&all.0) > 1);
    std::mem::forget(all);
}
