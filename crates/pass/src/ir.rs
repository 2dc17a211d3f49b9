//! Reading and building LLVM IR: thin functions over the C API.
//!
//! Invariant: all handles belong to the one module that [`Ir`] was made for, and are used on the
//! thread that compiles it while the pass runs. That is what makes each call below sound.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMStoreSizeOfType, LLVMTargetDataRef};
use llvm_sys::{LLVMCallConv, LLVMIntPredicate, LLVMLinkage, LLVMOpcode, LLVMTypeKind};
use std::ffi::{CString, c_uint};

/// A handle of LLVM's C API.
pub type Value = LLVMValueRef;
/// A type handle.
pub type Type = LLVMTypeRef;

/// A call into LLVM.
macro_rules! llvm {
    ($call:expr) => {{
        // SAFETY: handles belong to the module being compiled and this is its thread (see `ir`).
        #[allow(unused_unsafe)]
        unsafe {
            $call
        }
    }};
}
pub(crate) use llvm;

/// The module with what building needs again and again.
pub struct Ir {
    pub module: LLVMModuleRef,
    pub context: LLVMContextRef,
    pub builder: LLVMBuilderRef,
    layout: LLVMTargetDataRef,
    pub void: Type,
    pub i8: Type,
    pub i32: Type,
    pub i64: Type,
    pub ptr: Type,
    no_sanitize_kind: c_uint,
    no_sanitize: Value,
}

impl Ir {
    /// Prepares work on a module.
    pub fn new(module: LLVMModuleRef) -> Ir {
        llvm!({
            let context = LLVMGetModuleContext(module);
            let name = "nosanitize";
            let empty = LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0);
            Ir {
                module,
                context,
                builder: LLVMCreateBuilderInContext(context),
                layout: LLVMGetModuleDataLayout(module),
                void: LLVMVoidTypeInContext(context),
                i8: LLVMInt8TypeInContext(context),
                i32: LLVMInt32TypeInContext(context),
                i64: LLVMInt64TypeInContext(context),
                ptr: LLVMPointerTypeInContext(context, 0),
                no_sanitize_kind: LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as c_uint),
                no_sanitize: LLVMMetadataAsValue(context, empty),
            }
        })
    }

    /// Builds before `before` from now on, with the debug location of `like`.
    pub fn position(&self, before: Value, like: Value) {
        llvm!({
            LLVMPositionBuilderBefore(self.builder, before);
            LLVMSetCurrentDebugLocation2(self.builder, llvm_sys::debuginfo::LLVMInstructionGetDebugLoc(like));
        })
    }

    /// Marks an instruction as ours: sanitizers and a second run of this pass leave it alone.
    pub fn ours(&self, value: Value) -> Value {
        llvm!({
            if !LLVMIsAInstruction(value).is_null() {
                LLVMSetMetadata(value, self.no_sanitize_kind, self.no_sanitize);
            }
            value
        })
    }

    /// Whether an instruction carries `!nosanitize`.
    pub fn is_ours(&self, instruction: Value) -> bool {
        llvm!(LLVMHasMetadata(instruction) != 0 && !LLVMGetMetadata(instruction, self.no_sanitize_kind).is_null())
    }

    /// Bytes that a store of the type writes.
    pub fn store_size(&self, ty: Type) -> u64 {
        llvm!(LLVMStoreSizeOfType(self.layout, ty))
    }

    pub fn int(&self, n: u64) -> Value {
        llvm!(LLVMConstInt(self.i64, n, 0))
    }

    pub fn int32(&self, n: i32) -> Value {
        llvm!(LLVMConstInt(self.i32, n as u64, 1))
    }

    pub fn function_type(&self, result: Type, parameters: &[Type]) -> Type {
        let mut parameters = parameters.to_vec();
        llvm!(LLVMFunctionType(
            result,
            parameters.as_mut_ptr(),
            parameters.len() as c_uint,
            0
        ))
    }

    /// A call of `callee`, marked as ours.
    pub fn call(&self, ty: Type, callee: Value, arguments: &[Value]) -> Value {
        let mut arguments = arguments.to_vec();
        self.ours(llvm!(LLVMBuildCall2(
            self.builder,
            ty,
            callee,
            arguments.as_mut_ptr(),
            arguments.len() as c_uint,
            c"".as_ptr()
        )))
    }

    pub fn and(&self, a: Value, b: Value) -> Value {
        self.ours(llvm!(LLVMBuildAnd(self.builder, a, b, c"".as_ptr())))
    }

    pub fn or(&self, a: Value, b: Value) -> Value {
        self.ours(llvm!(LLVMBuildOr(self.builder, a, b, c"".as_ptr())))
    }

    pub fn xor(&self, a: Value, b: Value) -> Value {
        self.ours(llvm!(LLVMBuildXor(self.builder, a, b, c"".as_ptr())))
    }

    pub fn add(&self, a: Value, b: Value) -> Value {
        self.ours(llvm!(LLVMBuildAdd(self.builder, a, b, c"".as_ptr())))
    }

    pub fn multiply(&self, a: Value, b: Value) -> Value {
        self.ours(llvm!(LLVMBuildMul(self.builder, a, b, c"".as_ptr())))
    }

    pub fn select(&self, condition: Value, yes: Value, no: Value) -> Value {
        self.ours(llvm!(LLVMBuildSelect(self.builder, condition, yes, no, c"".as_ptr())))
    }

    pub fn compare(&self, predicate: LLVMIntPredicate, a: Value, b: Value) -> Value {
        self.ours(llvm!(LLVMBuildICmp(self.builder, predicate, a, b, c"".as_ptr())))
    }

    pub fn load(&self, ty: Type, from: Value, align: u32) -> Value {
        llvm!({
            let load = LLVMBuildLoad2(self.builder, ty, from, c"".as_ptr());
            LLVMSetAlignment(load, align);
            self.ours(load)
        })
    }

    pub fn store(&self, value: Value, to: Value) {
        self.ours(llvm!(LLVMBuildStore(self.builder, value, to)));
    }

    /// An address as a number.
    pub fn address(&self, pointer: Value) -> Value {
        llvm!({
            if LLVMGetTypeKind(LLVMTypeOf(pointer)) == LLVMTypeKind::LLVMPointerTypeKind {
                self.ours(LLVMBuildPtrToInt(self.builder, pointer, self.i64, c"".as_ptr()))
            } else {
                pointer
            }
        })
    }

    /// An address as a number, masked. The mask is laid on the pointer: on the number it would make loops keep one
    /// more induction variable beside that of the access.
    pub fn rounded_down(&self, pointer: Value, mask: Value) -> Value {
        llvm!({
            let kind = LLVMTypeOf(pointer);
            if LLVMGetTypeKind(kind) != LLVMTypeKind::LLVMPointerTypeKind {
                return self.and(pointer, mask);
            }
            let name = "llvm.ptrmask";
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            let mut types = [kind, self.i64];
            let function = LLVMGetIntrinsicDeclaration(self.module, id, types.as_mut_ptr(), types.len());
            let ty = LLVMIntrinsicGetType(self.context, id, types.as_mut_ptr(), types.len());
            let masked = self.call(ty, function, &[pointer, mask]);
            self.address(masked)
        })
    }

    /// A number as a pointer into an address space.
    pub fn pointer(&self, address: Value, space: u32) -> Value {
        llvm!(self.ours(LLVMBuildIntToPtr(
            self.builder,
            address,
            LLVMPointerTypeInContext(self.context, space),
            c"".as_ptr()
        )))
    }

    /// `base` moved by `bytes`.
    pub fn offset(&self, base: Value, bytes: Value) -> Value {
        let mut index = [bytes];
        self.ours(llvm!(LLVMBuildGEP2(
            self.builder,
            self.i8,
            base,
            index.as_mut_ptr(),
            1,
            c"".as_ptr()
        )))
    }

    /// An integer brought to 64 bits, without sign.
    pub fn widen(&self, value: Value) -> Value {
        llvm!({
            match LLVMGetIntTypeWidth(LLVMTypeOf(value)) {
                64 => value,
                65.. => self.ours(LLVMBuildTrunc(self.builder, value, self.i64, c"".as_ptr())),
                _ => self.ours(LLVMBuildZExt(self.builder, value, self.i64, c"".as_ptr())),
            }
        })
    }

    /// A function of the runtime or the C library that may be absent at link time.
    pub fn weak_function(&self, name: &str, ty: Type, convention: u32) -> Value {
        let terminated = c_string(name);
        llvm!({
            let known = LLVMGetNamedFunction(self.module, terminated.as_ptr());
            if !known.is_null() {
                return known;
            }
            let function = LLVMAddFunction(self.module, terminated.as_ptr(), ty);
            LLVMSetLinkage(function, LLVMLinkage::LLVMExternalWeakLinkage);
            LLVMSetFunctionCallConv(function, convention);
            // Bound at load in shared libraries: the lazy resolver does not keep all that preserve_all promises.
            for attribute in ["nounwind", "nonlazybind"] {
                let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
                let attribute = LLVMCreateEnumAttribute(self.context, kind, 0);
                LLVMAddAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, attribute);
            }
            function
        })
    }
}

impl Drop for Ir {
    fn drop(&mut self) {
        llvm!(LLVMDisposeBuilder(self.builder))
    }
}

/// The C calling convention.
pub const C_CONVENTION: u32 = LLVMCallConv::LLVMCCallConv as u32;
/// `preserve_allcc`: the callee saves all registers but one.
pub const PRESERVE_ALL: u32 = 15;

/// A C string; bytes after a NUL are dropped (names have none).
pub fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// The value's name, without the mark that keeps a symbol from being mangled.
pub fn name(value: Value) -> String {
    let mut length = 0;
    let bytes = llvm!({
        let start = LLVMGetValueName2(value, &mut length);
        std::slice::from_raw_parts(start.cast::<u8>(), length)
    });
    String::from_utf8_lossy(bytes.strip_prefix(b"\x01").unwrap_or(bytes)).into_owned()
}

fn chain(first: Value, next: unsafe extern "C" fn(Value) -> Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut at = first;
    while !at.is_null() {
        all.push(at);
        at = llvm!(next(at));
    }
    all
}

/// The string that a global variable holds at first, its end included, if it is one.
pub fn initial_string(global: Value) -> Option<Vec<u8>> {
    llvm!({
        let text = LLVMGetInitializer(global);
        // What asks for strings takes any constant for an array of data.
        if text.is_null() || LLVMIsAConstantDataArray(text).is_null() || LLVMIsConstantString(text) == 0 {
            return None;
        }
        let mut length = 0;
        let start = LLVMGetAsString(text, &mut length);
        Some(std::slice::from_raw_parts(start.cast::<u8>(), length).to_vec())
    })
}

/// Functions of a module, declarations too.
pub fn functions(module: LLVMModuleRef) -> Vec<Value> {
    chain(llvm!(LLVMGetFirstFunction(module)), LLVMGetNextFunction)
}

/// Basic blocks of a function.
pub fn blocks(function: Value) -> Vec<LLVMBasicBlockRef> {
    let mut all = Vec::new();
    let mut at = llvm!(LLVMGetFirstBasicBlock(function));
    while !at.is_null() {
        all.push(at);
        at = llvm!(LLVMGetNextBasicBlock(at));
    }
    all
}

/// Instructions of a block.
pub fn instructions(block: LLVMBasicBlockRef) -> Vec<Value> {
    chain(llvm!(LLVMGetFirstInstruction(block)), LLVMGetNextInstruction)
}

pub fn opcode(instruction: Value) -> LLVMOpcode {
    llvm!(LLVMGetInstructionOpcode(instruction))
}

pub fn operand(user: Value, n: u32) -> Value {
    llvm!(LLVMGetOperand(user, n))
}

pub fn type_of(value: Value) -> Type {
    llvm!(LLVMTypeOf(value))
}

/// Whether the value is a pointer into the ordinary address space.
pub fn is_plain_pointer(value: Value) -> bool {
    let ty = type_of(value);
    llvm!(LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind && LLVMGetPointerAddressSpace(ty) == 0)
}

/// Whether the value is an integer of this many bits.
pub fn is_integer(value: Value, bits: u32) -> bool {
    let ty = type_of(value);
    llvm!(LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind && LLVMGetIntTypeWidth(ty) == bits)
}

/// Whether the value is an integer.
pub fn is_any_integer(value: Value) -> bool {
    llvm!(LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMIntegerTypeKind)
}

/// The number, if the value is a constant integer of at most 64 bits.
pub fn constant(value: Value) -> Option<u64> {
    llvm!({
        let constant = LLVMIsAConstantInt(value);
        (!constant.is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64)
            .then(|| LLVMConstIntGetZExtValue(constant))
    })
}

/// Number of a call's arguments.
pub fn argument_count(call: Value) -> u32 {
    llvm!(LLVMGetNumArgOperands(call))
}
