//@ expect: none
// The last owner drops the value: Arc's release and its acquire fence order what all others did before.
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::thread;

struct Both(UnsafeCell<u32>, UnsafeCell<u32>);
unsafe impl Sync for Both {}
impl Drop for Both {
    fn drop(&mut self) {
        assert_eq!(*self.0.get_mut() + *self.1.get_mut(), 3);
    }
}

fn main() {
    let both = Arc::new(Both(UnsafeCell::new(0), UnsafeCell::new(0)));
    let theirs = both.clone();
    let other = thread::spawn(move || unsafe { *theirs.0.get() = 1 });
    unsafe { *both.1.get() = 2 }
    drop(both);
    other.join().unwrap();
}
