//@ expect: harmful(panic)
// A list in a synchronised wrapper, as JDK 1.4 has it: whoever walks over it has the list's lock at the beginning only.
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::thread;

struct Node(u32, Option<&'static Node>);

#[derive(Default)]
struct State {
    first: Option<&'static Node>,
    size: u32,
    changes: u32,
}

#[derive(Default)]
struct List {
    lock: Mutex<()>,
    state: UnsafeCell<State>,
}

unsafe impl Sync for List {}

impl List {
    fn of(value: u32) -> List {
        let first = Some(&*Box::leak(Box::new(Node(value, None))));
        let state = UnsafeCell::new(State { first, size: 1, changes: 1 });
        List { state, ..List::default() }
    }
    fn remove_all(&self) {
        let _hold = self.lock.lock();
        unsafe {
            (*self.state.get()).changes += 1; // RACE!(changes)
            (*self.state.get()).first = None;
            (*self.state.get()).size = 0; // RACE!(size)
        }
    }
    fn begin(&self) -> (u32, Option<&'static Node>) {
        let _hold = self.lock.lock();
        unsafe { ((*self.state.get()).changes, (*self.state.get()).first) }
    }
    fn visit(&self) {
        let (expected, mut node) = self.begin();
        let mut seen = 0;
        while seen < unsafe { (*self.state.get()).size } { // RACE!(size)
            let now = unsafe { (*self.state.get()).changes }; // RACE!(changes)
            assert_eq!(now, expected, "concurrent modification");
            (node, seen) = (node.unwrap().1, seen + node.unwrap().0);
        }
    }
}

fn main() {
    let list = List::of(1);
    thread::scope(|s| {
        s.spawn(|| list.visit());
        s.spawn(|| list.remove_all());
    });
}
