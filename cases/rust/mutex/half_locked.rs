//@ expect: real
// One thread goes around the lock.
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::thread;

struct Account(UnsafeCell<i64>);
unsafe impl Sync for Account {}

static ACCOUNT: Account = Account(UnsafeCell::new(0));
static LOCK: Mutex<()> = Mutex::new(());

fn main() {
    let other = thread::spawn(|| {
        let _held = LOCK.lock().unwrap();
        unsafe { *ACCOUNT.0.get() += 10 } // RACE!(a)
    });
    let seen = unsafe { *ACCOUNT.0.get() }; // RACE!(a)
    other.join().unwrap();
    assert!(seen <= unsafe { *ACCOUNT.0.get() });
}
