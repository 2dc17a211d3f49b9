//! OpenMP: how LLVM's library (`libomp`) comes to say how it synchronises.
//!
//! `libomp` looks for a tool that wants to hear of it (OMPT); its own is `libarcher`, which passes it on by annotations
//! (`AnnotateHappensBefore` and so on) where it finds `__tsan_init`. That is what we export. In a plain run nobody is to
//! hear: there a tool of ours that declines ends the search. Tools of the user's own come first in any run.

use crate::token;
use core::ffi::{c_char, c_int, c_uint, c_void};

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct Tool {
    initialize: extern "C" fn(*const c_void, c_int, *mut c_void) -> c_int,
    finalize: extern "C" fn(*mut c_void),
    data: u64,
}

static DECLINES: Tool = Tool {
    initialize: declines,
    finalize: ends,
    data: 0,
};

extern "C" fn declines(_: *const c_void, _: c_int, _: *mut c_void) -> c_int {
    0
}

extern "C" fn ends(_: *mut c_void) {}

type Start = unsafe extern "C" fn(c_uint, *const c_char) -> *const Tool;

/// Asked by an OpenMP library at its start.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompt_start_tool(version: c_uint, library: *const c_char) -> *const Tool {
    // SAFETY: the next function of this name, which has this type; the caller's arguments.
    unsafe {
        let next = crate::real::find(c"ompt_start_tool");
        if next != 0 {
            let tool = core::mem::transmute::<usize, Start>(next)(version, library);
            if !tool.is_null() {
                return tool;
            }
        }
        if token::active() || !libc::getenv(c"OMP_TOOL_LIBRARIES".as_ptr()).is_null() {
            return core::ptr::null();
        }
    }
    &DECLINES
}
