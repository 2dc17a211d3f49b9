//! Failed assertions: the message is kept for the record.

use super::{exits, frame};
use crate::bytes::c_string;
use crate::real::real;
use crate::thread::Thread;
use crate::{ending, token};
use alloc::format;
use alloc::string::String;
use libc::{c_char, c_int, c_uint};

unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's C string.
    String::from_utf8_lossy(unsafe { c_string(text) }).into_owned()
}

/// `assert` failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __assert_fail(
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) {
    if let Some(t) = token::me() {
        t.frame = frame!();
        // SAFETY: the C strings that the macro passes.
        unsafe { failed(t, expression, file, line, function) };
    }
    // SAFETY: does not return.
    unsafe { message_and_abort(expression, file, line, function) }
}

/// `deadheat_assert` failed: nothing where the program is run by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deadheat_assert_failed(
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) {
    let Some(t) = token::me() else { return };
    t.frame = frame!();
    // SAFETY: the C strings that the macro passes; does not return.
    unsafe {
        failed(t, expression, file, line, function);
        message_and_abort(expression, file, line, function);
    }
}

/// Keeps the message, and what comes before an abort.
unsafe fn failed(
    t: &mut Thread,
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) {
    // SAFETY: the caller's C strings.
    let message = unsafe {
        format!(
            "{}:{line}: {}: Assertion `{}' failed.",
            text(file),
            text(function),
            text(expression)
        )
    };
    ending::failed_assertion(message);
    exits::aborts(t);
}

unsafe fn message_and_abort(expression: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) {
    // SAFETY: the caller's C strings.
    unsafe {
        real!(__assert_fail: fn(*const c_char, *const c_char, c_uint, *const c_char) -> ())(
            expression, file, line, function,
        );
    }
}

/// `assert_perror` failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __assert_perror_fail(
    error: c_int,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) {
    if let Some(t) = token::me() {
        t.frame = frame!();
        // SAFETY: the C strings that the macro passes.
        let message = unsafe { format!("{}:{line}: {}: Unexpected error {error}.", text(file), text(function)) };
        ending::failed_assertion(message);
        exits::aborts(t);
    }
    // SAFETY: does not return.
    unsafe {
        real!(__assert_perror_fail: fn(c_int, *const c_char, c_uint, *const c_char) -> ())(error, file, line, function)
    }
}
