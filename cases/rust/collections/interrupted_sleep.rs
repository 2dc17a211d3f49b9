//@ expect: harmful(panic)
// A cache's cleaner is woken by an interrupt while it sleeps, as its flag says: the flag is asked without a lock, so that
// the interrupt can come when it no longer sleeps, and breaks off the cleaning.
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

static INTERRUPTED: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();
static mut SLEEPS: bool = false;

fn interrupt() {
    *INTERRUPTED.lock().unwrap() = true;
    CHANGED.notify_all();
}

/// What waits is broken off when the thread is interrupted.
fn wait(milliseconds: u64) -> Result<(), &'static str> {
    let flag = INTERRUPTED.lock().unwrap();
    let time = Duration::from_millis(milliseconds);
    let (mut flag, _) = CHANGED.wait_timeout_while(flag, time, |set| !*set).unwrap();
    match std::mem::take(&mut *flag) {
        true => Err("interrupted"),
        false => Ok(()),
    }
}

fn clean() {
    unsafe { SLEEPS = true } // RACE!(falls_asleep)
    let _ = wait(50);
    unsafe { SLEEPS = false } // RACE!(wakes)
    wait(1).unwrap();
}

fn main() {
    let cleaner = thread::spawn(clean);
    if unsafe { SLEEPS } { // RACE!(falls_asleep) RACE!(wakes)
        interrupt();
    }
    cleaner.join().unwrap();
}
