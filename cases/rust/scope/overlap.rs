//@ expect: real
// Halves that overlap by one.
use std::thread;

struct Part(*mut u32, usize);
unsafe impl Send for Part {}

impl Part {
    fn double(self) {
        for n in 0..self.1 {
            unsafe { *self.0.add(n) *= 2 } // RACE!(a)
        }
    }
}

fn main() {
    let mut values = [1u32, 2, 3, 4];
    let start = values.as_mut_ptr();
    let (low, high) = (Part(start, 3), Part(unsafe { start.add(2) }, 2));
    thread::scope(|s| {
        s.spawn(|| low.double());
        s.spawn(|| high.double());
    });
    assert_eq!(values[0], 2);
}
