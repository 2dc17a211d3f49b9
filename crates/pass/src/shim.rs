//! The C++ side (`cpp/shim.h`), declared.

use llvm_sys::prelude::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// A debug location as the C++ side reports it; strings are not terminated and live as long as the module.
#[repr(C)]
pub struct RawLocation {
    pub file: *const c_char,
    pub directory: *const c_char,
    pub function: *const c_char,
    pub file_length: usize,
    pub directory_length: usize,
    pub function_length: usize,
    pub line: u32,
    pub column: u32,
    pub inlined_at: LLVMMetadataRef,
    pub scope: LLVMMetadataRef,
}

/// An access offered for hoisting.
#[repr(C)]
pub struct RawAccess {
    pub at: LLVMValueRef,
    pub pointer: LLVMValueRef,
    pub size: u32,
    pub write: u32,
}

/// An access that a hoisted check stands for.
#[repr(C)]
pub struct RawCovered {
    pub access: u32,
    pub offset: i32,
    pub stride: u32,
}

/// A hoisted check.
#[repr(C)]
pub struct RawHoisted {
    pub before: LLVMValueRef,
    pub start: LLVMValueRef,
    pub length: LLVMValueRef,
    pub write: u32,
    pub inexact: u32,
    pub covered: *const RawCovered,
    pub covered_count: usize,
}

unsafe extern "C" {
    pub fn dh_symbolic() -> i32;
    pub fn dh_allocate_registers(module: LLVMModuleRef, most: u32);
    pub fn dh_register(pass_builder: *mut c_void);
    pub fn dh_compress(input: *const u8, length: usize, output: *mut u8, capacity: usize) -> usize;
    pub fn dh_clone(function: LLVMValueRef, clone: *mut LLVMValueRef) -> *mut c_void;
    pub fn dh_cloned_value(map: *mut c_void, value: LLVMValueRef) -> LLVMValueRef;
    pub fn dh_clone_done(map: *mut c_void);
    pub fn dh_debug_location(location: LLVMMetadataRef, out: *mut RawLocation) -> c_int;
    pub fn dh_is_own(pointer: LLVMValueRef) -> c_int;
    pub fn dh_is_constant_data(pointer: LLVMValueRef) -> c_int;
    pub fn dh_known_alignment(pointer: LLVMValueRef, at: LLVMValueRef) -> c_uint;
    pub fn dh_uncounted_back_edges(
        function: LLVMValueRef,
        found: unsafe extern "C" fn(*mut c_void, LLVMValueRef),
        context: *mut c_void,
    );
    pub fn dh_hoist(
        function: LLVMValueRef,
        accesses: *const RawAccess,
        count: usize,
        hoisted: unsafe extern "C" fn(*mut c_void, *const RawHoisted),
        context: *mut c_void,
    );
    pub fn dh_may_synchronise(instruction: LLVMValueRef) -> c_int;
    pub fn dh_split_cold(condition: LLVMValueRef, before: LLVMValueRef) -> LLVMValueRef;
    pub fn dh_is_vtable_access(instruction: LLVMValueRef) -> c_int;
    pub fn dh_was_masked(load: LLVMValueRef) -> c_int;
    pub fn dh_is_bare(instruction: LLVMValueRef) -> c_int;
    pub fn dh_is_lanewise(instruction: LLVMValueRef) -> c_int;
    pub fn dh_depends_on(value: LLVMValueRef, load: LLVMValueRef, masked: *mut c_int) -> c_int;
    pub fn dh_single_thread_scope(instruction: LLVMValueRef) -> c_int;
    pub fn dh_is_ifunc_resolver(function: LLVMValueRef) -> c_int;
    pub fn dh_forget_memory_attributes(function: LLVMValueRef);
    pub fn dh_result_point(call: LLVMValueRef) -> LLVMValueRef;
    pub fn dh_element_type(call: LLVMValueRef, argument: c_uint) -> LLVMTypeRef;
    pub fn dh_byval_type(call: LLVMValueRef, argument: c_uint) -> LLVMTypeRef;
    pub fn dh_allow_optimisation(module: LLVMModuleRef);
    pub fn dh_touches() -> c_int;
    pub fn dh_split_at_calls(function: LLVMValueRef);
    pub fn dh_is_standard_stream(call: LLVMValueRef, argument: c_int) -> c_int;
    pub fn dh_keep_global(module: LLVMModuleRef, global: LLVMValueRef);
    pub fn dh_retain_global(module: LLVMModuleRef, global: LLVMValueRef);
    pub fn dh_address_parts(
        gep: LLVMValueRef,
        variables: *mut LLVMValueRef,
        scales: *mut i64,
        constant: *mut i64,
        most: c_int,
    ) -> c_int;
    pub fn dh_has_byval(call: LLVMValueRef) -> c_int;
}
