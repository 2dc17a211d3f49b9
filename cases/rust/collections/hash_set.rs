//@ expect: harmful(panic)
// A hash set in a synchronised wrapper takes all elements of another one, over whose buckets it walks without the lock.
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::thread;

const BUCKETS: usize = 4;

#[derive(Default)]
struct Set {
    lock: Mutex<()>,
    table: UnsafeCell<[u32; BUCKETS]>, // 0 for none; one for each bucket will do here
    changes: UnsafeCell<u32>,
}

unsafe impl Sync for Set {}

impl Set {
    fn add(&self, element: u32) {
        let _hold = self.lock.lock();
        unsafe {
            (*self.table.get())[element as usize % BUCKETS] = element;
            *self.changes.get() += 1;
        }
    }
    fn clear(&self) {
        let _hold = self.lock.lock();
        unsafe {
            *self.changes.get() += 1; // RACE!(changes)
            for bucket in 0..BUCKETS {
                (*self.table.get())[bucket] = 0; // RACE!(bucket)
            }
        }
    }
    fn add_all(&self, other: &Set) {
        let hold = other.lock.lock();
        let expected = unsafe { *other.changes.get() };
        drop(hold);
        for bucket in 0..BUCKETS {
            let element = unsafe { (*other.table.get())[bucket] }; // RACE!(bucket)
            if element != 0 {
                let now = unsafe { *other.changes.get() }; // RACE!(changes)
                assert_eq!(now, expected, "concurrent modification");
                self.add(element);
            }
        }
    }
}

fn main() {
    let (one, other) = (Set::default(), Set::default());
    other.add(1);
    other.add(3);
    thread::scope(|s| {
        s.spawn(|| one.add_all(&other));
        s.spawn(|| other.clear());
    });
}
