//! The symbolic flavour: beside each integer that may come from input, the number of its expression.
//!
//! Instrumented at the start of the pipeline, after promotion of memory to values and lowering of
//! switches: late enough that temporaries are gone, early enough that the source's decisions are there (at
//! the end of optimisation most are folded into arithmetic). The normal pipeline follows, so that where
//! nothing is symbolic the cost is one test for a group of operations.
//!
//! An expression's number (a `u32`, 0: concrete) is a value like any other: φ-nodes merge it, tests of "any
//! of these not 0" guard the calls into the runtime, which lie in cold blocks. Memory has byte tags in a
//! shadow at a fixed distance, tested inline. Arguments and results go through a thread-local block of slots
//! ([`slots`]): the caller writes it only if something is symbolic, and names the callee in it; the callee
//! takes it only if it is named. So code that is not instrumented, callbacks, `longjmp` and unwinding
//! cannot mix expressions up. What still goes astray is caught by the runtime, where each expression knows
//! the value that it has in this run.
//!
//! Integers up to 64 bits and pointers have expressions. Floating point, vectors, wider integers and inline
//! assembly are concrete; what gets lost there is counted at run time.
//!
//! A flavour for the pruning of paths also tells of accesses ([`touches`]).
//!
//! Sites of branches are numbered by module, function and order on the front end's bitcode.

mod arithmetic;
mod branches;
mod calls;
mod function;
mod memory;
mod slots;
mod touches;
mod words;

use crate::ir::{self, Ir, Type, Value, c_string, llvm};
use crate::shim;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::transforms::pass_builder::*;
use llvm_sys::{LLVMIntPredicate, LLVMLinkage, LLVMTypeKind};
use std::collections::HashMap;

/// Instruments a module.
///
/// # Safety
/// `module` is a live module, owned by this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dh_concolic(module: LLVMModuleRef) {
    llvm!(shim::dh_allow_optimisation(module));
    if touches::wanted() {
        touches::prepare(module);
    } else {
        run_passes(module, c"function(sroa,early-cse,lower-switch)");
    }
    let ir = Ir::new(module);
    words::list(&ir);
    let functions: Vec<Value> = ir::functions(module)
        .into_iter()
        .filter(|f| llvm!(LLVMIsDeclaration(*f)) == 0 && !is_model_of_available_body(*f))
        .collect();
    for function in &functions {
        // A definition that only shows the optimiser an inline function of a library becomes this module's own.
        if llvm!(LLVMGetLinkage(*function)) == LLVMLinkage::LLVMAvailableExternallyLinkage {
            llvm!(LLVMSetLinkage(*function, LLVMLinkage::LLVMLinkOnceODRLinkage));
        }
    }
    let mut branches = branches::Branches::new(&ir);
    let slots = slots::Slots::new(&ir);
    for function in functions {
        function::instrument(&ir, &slots, &mut branches, function);
    }
    run_passes(module, c"function(sccp,adce,simplifycfg)");
}

/// A header's inline body of a function that has a model: calls shall reach the model.
fn is_model_of_available_body(function: Value) -> bool {
    llvm!(LLVMGetLinkage(function)) == LLVMLinkage::LLVMAvailableExternallyLinkage
        && calls::has_model(&ir::name(function))
}

fn run_passes(module: LLVMModuleRef, passes: &std::ffi::CStr) {
    llvm!({
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(module, passes.as_ptr(), std::ptr::null_mut(), options);
        if !error.is_null() {
            llvm_sys::error::LLVMConsumeError(error);
        }
        LLVMDisposePassBuilderOptions(options);
    });
}

/// One function's work: its builder and the expressions of its values.
pub struct Concolic<'a> {
    pub ir: &'a Ir,
    pub slots: &'a slots::Slots,
    /// The expression's number of each value that may have one.
    pub ids: HashMap<Value, Value>,
    /// Of structures with integer fields, the numbers of the fields.
    pub fields: HashMap<Value, Vec<Option<Value>>>,
    /// The instruction being instrumented.
    pub at: Value,
    /// The next branch or address site.
    pub site: Value,
    /// The hash of the calls that led to the function, if accesses are told.
    pub stack: Option<Value>,
}

impl Concolic<'_> {
    pub fn c32(&self, n: u32) -> Value {
        llvm!(LLVMConstInt(self.ir.i32, n.into(), 0))
    }

    /// Width of an integer or pointer that has expressions; 0 for all else.
    pub fn width(&self, ty: Type) -> u32 {
        llvm!({
            match LLVMGetTypeKind(ty) {
                LLVMTypeKind::LLVMIntegerTypeKind => Some(LLVMGetIntTypeWidth(ty)).filter(|w| *w <= 64).unwrap_or(0),
                LLVMTypeKind::LLVMPointerTypeKind if LLVMGetPointerAddressSpace(ty) == 0 => 64,
                _ => 0,
            }
        })
    }

    pub fn width_of(&self, value: Value) -> u32 {
        self.width(ir::type_of(value))
    }

    pub fn id(&self, value: Value) -> Option<Value> {
        self.ids.get(&value).copied()
    }

    /// The number, 0 for what is always concrete.
    pub fn id_or_zero(&self, value: Value) -> Value {
        self.id(value).unwrap_or_else(|| self.c32(0))
    }

    /// The value in 64 bits.
    pub fn wide(&self, value: Value) -> Value {
        match self.width_of(value) {
            0 => self.ir.int(0),
            _ if ir::is_any_integer(value) => self.ir.widen(value),
            _ => self.ir.address(value),
        }
    }

    /// A call into the runtime.
    pub fn call(&self, name: &str, result: Type, arguments: &[Value]) -> Value {
        let types: Vec<Type> = arguments.iter().map(|a| ir::type_of(*a)).collect();
        let ty = self.ir.function_type(result, &types);
        let callee = runtime_function(self.ir, name, ty);
        self.ir.call(ty, callee, arguments)
    }

    /// Whether any of the numbers is not 0.
    pub fn any(&self, ids: &[Value]) -> Value {
        let mut all = ids[0];
        for id in &ids[1..] {
            if *id != all {
                all = self.ir.or(all, *id);
            }
        }
        self.ir.compare(LLVMIntPredicate::LLVMIntNE, all, self.c32(0))
    }

    /// Builds before `before` from now on.
    pub fn position(&self, before: Value) {
        self.ir.position(before, self.at);
    }

    /// `if condition { body }` before `before`, in a cold block.
    pub fn guarded(&self, condition: Value, before: Value, body: impl FnOnce()) {
        let end = llvm!(shim::dh_split_cold(condition, before));
        self.position(end);
        body();
        self.position(before);
    }

    /// `if condition { body } else { 0 }`: a number.
    pub fn guarded_id(&self, condition: Value, before: Value, body: impl FnOnce() -> Value) -> Value {
        let head = llvm!(LLVMGetInstructionParent(before));
        let end = llvm!(shim::dh_split_cold(condition, before));
        self.position(end);
        let made = body();
        let from = llvm!(LLVMGetInsertBlock(self.ir.builder));
        self.position(before);
        self.merge(
            before,
            ir::type_of(made),
            &[(llvm!(LLVMConstNull(ir::type_of(made))), head), (made, from)],
        )
    }

    /// A φ-node at the start of `before`'s block.
    pub fn merge(&self, before: Value, ty: Type, incoming: &[(Value, LLVMBasicBlockRef)]) -> Value {
        llvm!({
            let block = LLVMGetInstructionParent(before);
            LLVMPositionBuilderBefore(self.ir.builder, LLVMGetFirstInstruction(block));
            let phi = LLVMBuildPhi(self.ir.builder, ty, c"".as_ptr());
            for (value, block) in incoming {
                let (mut value, mut block) = (*value, *block);
                LLVMAddIncoming(phi, &mut value, &mut block, 1);
            }
            self.position(before);
            phi
        })
    }

    /// A symbolic address, length or target is fixed to its value here.
    pub fn pin(&self, value: Value, before: Value) {
        if let Some(id) = self.id(value) {
            let some = self.any(&[id]);
            self.guarded(some, before, || {
                let wide = self.wide(value);
                let width = self.c32(self.width_of(value));
                self.call("dh_sym_pin", self.ir.void, &[id, wide, width, self.site]);
            });
        }
    }

    /// A value becomes concrete in an operation that has no model.
    pub fn lost(&self, value: Value, before: Value) {
        if let Some(id) = self.id(value) {
            let some = self.any(&[id]);
            self.guarded(some, before, || {
                self.call("dh_sym_lost", self.ir.void, &[]);
            });
        }
    }
}

fn runtime_function(ir: &Ir, name: &str, ty: Type) -> Value {
    let terminated = c_string(name);
    llvm!({
        let known = LLVMGetNamedFunction(ir.module, terminated.as_ptr());
        if !known.is_null() {
            return known;
        }
        let function = LLVMAddFunction(ir.module, terminated.as_ptr(), ty);
        let kind = LLVMGetEnumAttributeKindForName(c"nounwind".as_ptr(), 8);
        let attribute = LLVMCreateEnumAttribute(ir.context, kind, 0);
        LLVMAddAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        function
    })
}
