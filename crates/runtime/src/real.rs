//! The functions that ours stand in front of, found when first needed.
//!
//! Interposers are called before any constructor ran (by the loader, by global constructors), so nothing
//! here waits for start-up. `dlsym` may allocate: [`resolve`] notes that it is at work, and the malloc
//! family serves such calls from a small static buffer.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Above zero while a name is looked up.
static RESOLVING: AtomicU32 = AtomicU32::new(0);

/// Whether a name is being looked up (by whichever thread; look-ups are rare and early).
pub fn resolving() -> bool {
    RESOLVING.load(Relaxed) != 0
}

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The C library's `dlsym`, 0 before it was looked up.
static DLSYM: AtomicUsize = AtomicUsize::new(0);

/// The address of the C library's `dlsym`; ours stands in front of it.
pub fn dlsym() -> usize {
    let known = DLSYM.load(Relaxed);
    if known != 0 {
        return known;
    }
    RESOLVING.fetch_add(1, Relaxed);
    // SAFETY: C strings and a pseudo-handle.
    let found = unsafe { dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), c"GLIBC_2.2.5".as_ptr()) } as usize;
    RESOLVING.fetch_sub(1, Relaxed);
    if found == 0 {
        crate::sys::say("deadheat: the C library has no function dlsym");
        crate::sys::exit_group(70);
    }
    DLSYM.store(found, Relaxed);
    found
}

/// What the C library's `dlsym` finds from here.
pub fn look_up(handle: *mut c_void, name: &CStr) -> usize {
    let dlsym = dlsym();
    RESOLVING.fetch_add(1, Relaxed);
    // SAFETY: the function has this type; a C string, and our caller's handle.
    let address = unsafe { core::mem::transmute::<usize, Dlsym>(dlsym)(handle, name.as_ptr()) } as usize;
    RESOLVING.fetch_sub(1, Relaxed);
    address
}

/// Address of the next definition of a name after ours, 0 if there is none.
#[cold]
pub fn find(name: &CStr) -> usize {
    look_up(libc::RTLD_NEXT, name)
}

/// As [`find`], for functions that must exist.
#[cold]
pub fn resolve(name: &CStr) -> usize {
    let address = find(name);
    if address == 0 {
        crate::sys::say(&alloc::format!(
            "deadheat: the C library has no function {}",
            name.to_string_lossy()
        ));
        crate::sys::exit_group(70);
    }
    address
}

/// `real!(name: fn(types…) -> type)`: the real function of this name.
macro_rules! real {
    ($name:ident : fn($($t:ty),*) -> $r:ty) => {{
        static ADDRESS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        let mut address = ADDRESS.load(core::sync::atomic::Ordering::Relaxed);
        if address == 0 {
            // SAFETY: the literal ends in its only NUL.
            let name = unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) };
            address = $crate::real::resolve(name);
            ADDRESS.store(address, core::sync::atomic::Ordering::Relaxed);
        }
        // SAFETY: the C library's function of this name has this type.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($t),*) -> $r>(address) }
    }};
}
pub(crate) use real;
