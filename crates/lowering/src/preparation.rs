//! What is done to a module before it is lowered.
//!
//! 1. The mark of the unoptimised level (`optnone`, and the `noinline` that comes with it) goes, or the passes would
//!    skip everything. Functions that a model knows are marked `noinline`.
//! 2. Accesses to the first field of a struct are marked with that field: LLVM folds an address computation that moves
//!    by nothing, and with it goes the only trace of the field.
//! 3. What would be simplified away though it matters is kept ([`unread`]).
//! 4. Locals become registers, small functions are inlined, what nobody calls is dropped. No `instcombine`: it
//!    rewrites address computations to plain byte offsets, on whose types field tags rest. No `early-cse`: of two reads
//!    of a variable that others write, both are there to race.

use crate::llvm::*;
use crate::{types, unread};
use deadheat_wire::lowering::Settings;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::LLVMModuleRef;
use llvm_sys::transforms::pass_builder::{LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses};
use std::ffi::CStr;

const PASSES: &CStr =
    c"function(sroa,instsimplify,simplifycfg),cgscc(inline),function(sroa,instsimplify,simplifycfg),globaldce";

/// The metadata kind that names an access's field.
pub const FIELD: &str = "dh.field";

/// Prepares a module; says why the passes did not run, if they did not.
pub fn prepare(module: LLVMModuleRef, settings: &Settings) -> Option<String> {
    let keep = Names::new(&settings.keep);
    for function in functions(module) {
        inlining(module, function, keep.has(&name(function)));
        let all: Vec<Value> = blocks(function).flat_map(instructions).collect();
        for instruction in all {
            mark_first_field(module, instruction);
            if !settings.verbatim {
                unread::keep_read(module, instruction);
                unread::begin_with_some_value(module, instruction);
            }
        }
    }
    if settings.verbatim { None } else { run(module) }
}

/// Names and starts of names.
struct Names<'a> {
    exact: Vec<&'a str>,
    starts: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn new(names: &'a [String]) -> Names<'a> {
        let (mut exact, mut starts) = (Vec::new(), Vec::new());
        for name in names {
            match name.strip_suffix('*') {
                Some(start) => starts.push(start),
                None => exact.push(name.as_str()),
            }
        }
        exact.sort_unstable();
        Names { exact, starts }
    }

    fn has(&self, name: &str) -> bool {
        self.exact.binary_search(&name).is_ok() || self.starts.iter().any(|start| name.starts_with(start))
    }
}

/// The number of an attribute kind.
pub fn attribute(name: &str) -> u32 {
    llvm!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()))
}

fn inlining(module: LLVMModuleRef, function: Value, keep: bool) {
    let has = |kind| !llvm!(LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind)).is_null();
    let (optnone, noinline, alwaysinline) = (attribute("optnone"), attribute("noinline"), attribute("alwaysinline"));
    if has(optnone) {
        for kind in [optnone, noinline] {
            llvm!(LLVMRemoveEnumAttributeAtIndex(
                function,
                LLVMAttributeFunctionIndex,
                kind
            ));
        }
    }
    if keep {
        llvm!({
            LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, alwaysinline);
            let context = LLVMGetModuleContext(module);
            let mark = LLVMCreateEnumAttribute(context, noinline, 0);
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, mark);
        });
    }
}

fn mark_first_field(module: LLVMModuleRef, instruction: Value) {
    let address = match llvm!(LLVMGetInstructionOpcode(instruction)) {
        LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => operand(instruction, 0),
        LLVMOpcode::LLVMStore => operand(instruction, 1),
        _ => return,
    };
    let Some(structure) = types::first_field(address) else {
        return;
    };
    llvm!({
        let context = LLVMGetModuleContext(module);
        let kind = LLVMGetMDKindIDInContext(context, FIELD.as_ptr().cast(), FIELD.len() as u32);
        let text = LLVMMDStringInContext2(context, structure.as_ptr().cast(), structure.len());
        let mut parts = [text];
        let node = LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len());
        LLVMSetMetadata(instruction, kind, LLVMMetadataAsValue(context, node));
    });
}

/// The struct whose first field an access was marked with, as LLVM names the struct.
pub fn marked_field(module: LLVMModuleRef, instruction: Value) -> Option<String> {
    llvm!({
        let context = LLVMGetModuleContext(module);
        let kind = LLVMGetMDKindIDInContext(context, FIELD.as_ptr().cast(), FIELD.len() as u32);
        let node = LLVMGetMetadata(instruction, kind);
        if node.is_null() {
            return None;
        }
        let mut text_value = std::ptr::null_mut();
        if LLVMGetMDNodeNumOperands(node) != 1 {
            return None;
        }
        LLVMGetMDNodeOperands(node, &mut text_value);
        let mut length = 0;
        let start = LLVMGetMDString(text_value, &mut length);
        Some(text(start, length as usize))
    })
}

fn run(module: LLVMModuleRef) -> Option<String> {
    llvm!({
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(module, PASSES.as_ptr(), std::ptr::null_mut(), options);
        LLVMDisposePassBuilderOptions(options);
        if error.is_null() {
            return None;
        }
        let message = LLVMGetErrorMessage(error);
        let said = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Some(said)
    })
}
