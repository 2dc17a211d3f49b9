//@ expect: harmful(panic)
//@ levels: O0 reads are merged into the line of the assertion
// Two lists in synchronised wrappers are compared: equals walks over the other one, whose lock it has at the beginning only.
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::thread;

struct List {
    lock: Mutex<()>,
    elements: UnsafeCell<[u32; 2]>,
    size: UnsafeCell<usize>,
    changes: UnsafeCell<u32>,
}

unsafe impl Sync for List {}

impl List {
    fn of(elements: [u32; 2]) -> List {
        List {
            lock: Mutex::new(()),
            elements: UnsafeCell::new(elements),
            size: UnsafeCell::new(2),
            changes: UnsafeCell::new(1),
        }
    }
    fn clear(&self) {
        let _hold = self.lock.lock();
        unsafe {
            *self.changes.get() += 1; // RACE!(changes)
            *self.elements.get() = [0; 2]; // RACE!(element)
            *self.size.get() = 0; // RACE!(size)
        }
    }
    fn equals(&self, other: &List) -> bool {
        let hold = other.lock.lock();
        let expected = unsafe { *other.changes.get() };
        drop(hold);
        let _hold = self.lock.lock();
        for at in 0..2 {
            let size = unsafe { *other.size.get() }; // RACE!(size)
            let now = unsafe { *other.changes.get() }; // RACE!(changes)
            assert!(at == size || now == expected, "concurrent modification");
            let element = unsafe { (*other.elements.get())[at] }; // RACE!(element)
            if at == size || element != unsafe { (*self.elements.get())[at] } {
                return false;
            }
        }
        true
    }
}

fn main() {
    let (one, other) = (List::of([1, 2]), List::of([1, 2]));
    thread::scope(|s| {
        s.spawn(|| one.equals(&other));
        s.spawn(|| other.clear());
    });
}
