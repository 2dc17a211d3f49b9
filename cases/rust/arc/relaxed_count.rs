//@ expect: real
// A count of users whose decrement is relaxed: the last one frees what the other may still be writing.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

struct Shared {
    users: AtomicU32,
    value: [u32; 2],
}

struct User(*mut Shared, usize);
unsafe impl Send for User {}

impl User {
    fn work(self) {
        unsafe {
            (&raw mut (*self.0).value[self.1]).write(1); // RACE!(a)
            if (*self.0).users.fetch_sub(1, Relaxed) == 1 { // RACE!(b)
                drop(Box::from_raw(self.0)); // RACE!(a) RACE!(b)
            }
        }
    }
}

fn main() {
    let shared = Box::into_raw(Box::new(Shared { users: AtomicU32::new(2), value: [0; 2] }));
    let theirs = User(shared, 0);
    let other = thread::spawn(move || theirs.work());
    User(shared, 1).work();
    other.join().unwrap();
}
