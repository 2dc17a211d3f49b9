//! State that only the holder of the turn touches.

use core::cell::UnsafeCell;

/// A static whose contents are used by one thread at a time: the one that holds the turn, or the only
/// one there is.
pub struct Held<T>(UnsafeCell<T>);

// SAFETY: the turn hands the contents from thread to thread with release and acquire.
unsafe impl<T> Sync for Held<T> {}

impl<T> Held<T> {
    /// A static's first contents.
    pub const fn new(contents: T) -> Held<T> {
        Held(UnsafeCell::new(contents))
    }

    /// The contents. Callers keep the reference no longer than the call that uses it.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub fn get(&self) -> &mut T {
        // SAFETY: one thread at a time, by the turn; references are short.
        unsafe { &mut *self.0.get() }
    }

    /// Address of the contents.
    pub const fn as_ptr(&self) -> *mut T {
        self.0.get()
    }
}
