//@ expect: harmful(panic)
// JDK 1.1's Vector: the enumeration takes the lock for an element, but asks without it whether there is one.
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::thread;

struct Vector {
    elements: Mutex<[u32; 4]>,
    count: UnsafeCell<usize>, // under the lock of the elements, but for one place
}

unsafe impl Sync for Vector {}

impl Vector {
    fn has_more(&self, at: usize) -> bool {
        at < unsafe { *self.count.get() } // RACE!(count)
    }
    fn next(&self, at: usize) -> u32 {
        let elements = self.elements.lock().unwrap();
        elements[..unsafe { *self.count.get() }][at]
    }
    fn remove_all(&self) {
        let _elements = self.elements.lock().unwrap();
        unsafe { *self.count.get() = 0 } // RACE!(count)
    }
}

fn main() {
    let vector = Vector { elements: Mutex::new([1, 2, 0, 0]), count: UnsafeCell::new(2) };
    thread::scope(|s| {
        s.spawn(|| {
            let mut at = 0;
            while vector.has_more(at) {
                assert_ne!(vector.next(at), 0);
                at += 1;
            }
        });
        s.spawn(|| vector.remove_all());
    });
}
