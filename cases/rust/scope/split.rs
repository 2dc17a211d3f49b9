//@ expect: none
// Scoped threads on halves of a slice; the scope's end is a join of all.
use std::thread;

fn main() {
    let mut values = [1u32, 2, 3, 4];
    let (low, high) = values.split_at_mut(2);
    thread::scope(|s| {
        s.spawn(|| low.iter_mut().for_each(|v| *v *= 2));
        s.spawn(|| high.iter_mut().for_each(|v| *v *= 3));
    });
    assert_eq!(values, [2, 4, 9, 12]);
}
