//! LLVM's C API, and the C++ side (`cpp/debug_information.cc`), declared.
//!
//! Invariant: one module at a time is alive, in a context of its own, and this process has one thread. All handles
//! belong to that module. That is what makes each call below sound.

use llvm_sys::prelude::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

pub use llvm_sys::core::*;
pub use llvm_sys::target::*;
pub use llvm_sys::*;

pub type Value = LLVMValueRef;
pub type Type = LLVMTypeRef;
pub type Metadata = LLVMMetadataRef;

/// A call into LLVM.
macro_rules! llvm {
    ($call:expr) => {{
        // SAFETY: handles belong to the one module that is alive, in a process of one thread (see `llvm`).
        #[allow(unused_unsafe)]
        unsafe {
            $call
        }
    }};
}
pub(crate) use llvm;

/// File and function of a scope; strings are not terminated and live as long as the module.
#[repr(C)]
pub struct RawScope {
    pub file: *const c_char,
    pub function: *const c_char,
    pub file_length: usize,
    pub function_length: usize,
}

impl RawScope {
    pub const NOTHING: RawScope = RawScope {
        file: std::ptr::null(),
        function: std::ptr::null(),
        file_length: 0,
        function_length: 0,
    };
}

/// Told a named member: type and its length, bits; member and its length, offset in bits.
pub type RawMember = extern "C" fn(*mut c_void, *const c_char, usize, u64, *const c_char, usize, u64);

unsafe extern "C" {
    pub fn dh_scope(scope: Metadata, out: *mut RawScope) -> c_int;
    pub fn dh_variable(variable: Value, out: *mut RawScope, line: *mut c_uint) -> c_int;
    pub fn dh_members(module: LLVMModuleRef, tell: RawMember, to: *mut c_void);
}

/// Text that LLVM holds; bytes that are no UTF-8 are replaced.
pub fn text(start: *const c_char, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: LLVM gives a pointer to `length` bytes that live as long as the module.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The name of a value.
pub fn name(value: Value) -> String {
    let mut length = 0;
    let start = llvm!(LLVMGetValueName2(value, &mut length));
    text(start, length)
}

/// The instructions of a block.
pub fn instructions(block: LLVMBasicBlockRef) -> impl Iterator<Item = Value> {
    let next = |at: &Value| Some(llvm!(LLVMGetNextInstruction(*at))).filter(|v| !v.is_null());
    std::iter::successors(
        Some(llvm!(LLVMGetFirstInstruction(block))).filter(|v| !v.is_null()),
        next,
    )
}

/// The blocks of a function.
pub fn blocks(function: Value) -> impl Iterator<Item = LLVMBasicBlockRef> {
    let next = |at: &LLVMBasicBlockRef| Some(llvm!(LLVMGetNextBasicBlock(*at))).filter(|b| !b.is_null());
    std::iter::successors(
        Some(llvm!(LLVMGetFirstBasicBlock(function))).filter(|b| !b.is_null()),
        next,
    )
}

/// The functions of a module.
pub fn functions(module: LLVMModuleRef) -> impl Iterator<Item = Value> {
    let next = |at: &Value| Some(llvm!(LLVMGetNextFunction(*at))).filter(|v| !v.is_null());
    std::iter::successors(Some(llvm!(LLVMGetFirstFunction(module))).filter(|v| !v.is_null()), next)
}

/// The variables of a module.
pub fn variables(module: LLVMModuleRef) -> impl Iterator<Item = Value> {
    let next = |at: &Value| Some(llvm!(LLVMGetNextGlobal(*at))).filter(|v| !v.is_null());
    std::iter::successors(Some(llvm!(LLVMGetFirstGlobal(module))).filter(|v| !v.is_null()), next)
}

/// The aliases of a module.
pub fn aliases(module: LLVMModuleRef) -> impl Iterator<Item = Value> {
    let next = |at: &Value| Some(llvm!(LLVMGetNextGlobalAlias(*at))).filter(|v| !v.is_null());
    std::iter::successors(
        Some(llvm!(LLVMGetFirstGlobalAlias(module))).filter(|v| !v.is_null()),
        next,
    )
}

/// The ifuncs of a module.
pub fn ifuncs(module: LLVMModuleRef) -> impl Iterator<Item = Value> {
    let next = |at: &Value| Some(llvm!(LLVMGetNextGlobalIFunc(*at))).filter(|v| !v.is_null());
    std::iter::successors(
        Some(llvm!(LLVMGetFirstGlobalIFunc(module))).filter(|v| !v.is_null()),
        next,
    )
}

/// The operands of an instruction or constant.
pub fn operands(value: Value) -> impl Iterator<Item = Value> {
    (0..llvm!(LLVMGetNumOperands(value)).max(0) as c_uint).map(move |n| llvm!(LLVMGetOperand(value, n)))
}

/// Operand `n`.
pub fn operand(value: Value, n: c_uint) -> Value {
    llvm!(LLVMGetOperand(value, n))
}

/// Is it of that kind? For `LLVMIsA…`.
pub fn is(value: Value, kind: unsafe extern "C" fn(Value) -> Value) -> bool {
    // SAFETY: the query only looks at the value.
    !unsafe { kind(value) }.is_null()
}

/// The signed value of an integer constant of at most 64 bits.
pub fn integer(value: Value) -> Option<i64> {
    let small = is(value, LLVMIsAConstantInt) && llvm!(LLVMGetIntTypeWidth(LLVMTypeOf(value))) <= 64;
    small.then(|| llvm!(LLVMConstIntGetSExtValue(value)))
}
