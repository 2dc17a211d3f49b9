//@ expect: deadlock
// Two locks, two orders.
use std::sync::Mutex;
use std::thread;

static A: Mutex<u32> = Mutex::new(0);
static B: Mutex<u32> = Mutex::new(0);

fn main() {
    let other = thread::spawn(|| {
        for _ in 0..9 {
            let mut b = B.lock().unwrap();
            *b += 1;
            *A.lock().unwrap() += *b; // RACE!(a)
        }
    });
    for _ in 0..9 {
        let mut a = A.lock().unwrap();
        *a += 1;
        *B.lock().unwrap() += *a; // RACE!(a)
    }
    other.join().unwrap();
}
