//@ expect: harmful(panic)
//@ levels: O0 reads of the root are merged into the line of the loop
// A sorted set in a synchronised wrapper: whoever walks over its tree has the set's lock at the beginning only.
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::thread;

struct Entry {
    key: u32,
    right: Option<&'static Entry>,
}

struct Set {
    lock: Mutex<()>,
    root: UnsafeCell<Option<&'static Entry>>,
    changes: UnsafeCell<u32>,
}

unsafe impl Sync for Set {}

impl Set {
    fn after(&self, key: u32) -> Option<&'static Entry> {
        let mut entry = unsafe { *self.root.get() }; // RACE!(root)
        while let Some(e) = entry.filter(|e| e.key <= key) {
            entry = e.right;
        }
        entry
    }
    fn first(&self) -> (u32, Option<&'static Entry>) {
        let _hold = self.lock.lock();
        (unsafe { *self.changes.get() }, self.after(0))
    }
    fn clear(&self) {
        let _hold = self.lock.lock();
        unsafe {
            *self.changes.get() += 1; // RACE!(changes)
            *self.root.get() = None; // RACE!(root)
        }
    }
    fn visit(&self) {
        let (expected, mut entry) = self.first();
        while let Some(e) = entry {
            let now = unsafe { *self.changes.get() }; // RACE!(changes)
            assert_eq!(now, expected, "concurrent modification");
            entry = self.after(e.key);
        }
    }
}

fn main() {
    let root = UnsafeCell::new(Some(&*Box::leak(Box::new(Entry { key: 1, right: None }))));
    let set = Set { lock: Mutex::new(()), root, changes: UnsafeCell::new(1) };
    thread::scope(|s| {
        s.spawn(|| set.visit());
        s.spawn(|| set.clear());
    });
}
