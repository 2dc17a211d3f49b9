//! The work at the end of optimisation, function by function.

use crate::detecting_body::Detector;
use crate::ir::{self, Ir, Value, c_string, llvm};
use crate::plain_body::{self, PlainBody};
use crate::tables::Tables;
use crate::units::Unit;
use crate::watched_functions::{self, Treatment};
use crate::watched_statements::{self, Extent, Statement, Watched};
use crate::{debug_location, inline_assembly, kept_bitcode, seen_functions, shim};
use deadheat_wire::object::UNIT_OPAQUE_ASSEMBLY;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage};

/// Blocks of a function of the symbolic flavour, which has several for each access to memory, that is large.
const LARGE: u32 = 2_000;

/// Instruments a module.
///
/// # Safety
/// `module` is a live module, owned by this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dh_instrument(module: LLVMModuleRef) {
    // Bitcode that went through this pass before (`-emit-llvm`, compiled later) has its table already.
    if !is_x86_64_linux(module) || !llvm!(LLVMGetNamedGlobal(module, c"dh_unit".as_ptr())).is_null() {
        return;
    }
    let ir = Ir::new(module);
    let mut tables = Tables::new(&ir);
    let mut unit = Unit {
        name: source_name(module),
        ..Unit::default()
    };
    if inline_assembly::in_module(module) {
        unit.flags |= UNIT_OPAQUE_ASSEMBLY;
    }
    // Detection runs in the program itself, never in its symbolic flavour.
    let symbolic = llvm!(shim::dh_symbolic()) != 0;
    for (n, function) in ir::functions(module).into_iter().enumerate() {
        let treatment = watched_functions::treatment(function);
        if watched_functions::stands_before_runtime(function) {
            unit.flags |= UNIT_OPAQUE_ASSEMBLY;
        }
        match treatment {
            Treatment::Nothing => {
                if watched_functions::is_defined(function) && synchronises(function) {
                    unit.flags |= UNIT_OPAQUE_ASSEMBLY;
                }
                continue;
            }
            Treatment::Naked => {
                unit.naked += 1;
                unit.flags |= UNIT_OPAQUE_ASSEMBLY;
            }
            Treatment::NoSanitize => {
                unit.no_sanitize += 1;
                if synchronises(function) {
                    unit.flags |= UNIT_OPAQUE_ASSEMBLY;
                }
            }
            Treatment::Both | Treatment::PlainOnly => {
                let mut watched = watched_statements::find(&ir, function);
                unit.assembly += watched.assembly;
                if watched.opaque_assembly {
                    unit.flags |= UNIT_OPAQUE_ASSEMBLY;
                }
                if !watched.is_empty() {
                    unit.functions += 1;
                    two_bodies(
                        &ir,
                        &mut tables,
                        function,
                        n,
                        &mut watched,
                        treatment == Treatment::Both && !symbolic,
                    );
                }
            }
        }
    }
    if symbolic {
        llvm!(shim::dh_allocate_registers(module, LARGE));
    }
    tables.write(&ir, &unit);
    seen_functions::write(module);
    kept_bitcode::write(module);
}

/// Whether a function that is not watched has atomic operations or inline assembly, by which it may order threads.
fn synchronises(function: Value) -> bool {
    let mut all = ir::blocks(function).into_iter().flat_map(ir::instructions);
    all.any(|instruction| {
        llvm!({
            let assembly =
                !LLVMIsACallInst(instruction).is_null() && !LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)).is_null();
            let access = !LLVMIsALoadInst(instruction).is_null() || !LLVMIsAStoreInst(instruction).is_null();
            let ordered =
                access && LLVMGetOrdering(instruction) != llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
            assembly
                || ordered
                || !LLVMIsAAtomicRMWInst(instruction).is_null()
                || !LLVMIsAAtomicCmpXchgInst(instruction).is_null()
                || !LLVMIsAFenceInst(instruction).is_null()
        })
    })
}

fn two_bodies(ir: &Ir, tables: &mut Tables, plain: Value, n: usize, watched: &mut Watched, clone: bool) {
    let name = symbol(plain, n);
    tables.begin_function(&name);
    let entry = tables.add_entry(plain);
    for statement in &mut watched.statements {
        debug_location::complete(ir, plain, statement.owner);
        statement.desc = tables.add(statement);
    }
    llvm!(shim::dh_forget_memory_attributes(plain));
    // The clone is made before the plain body gets its sites.
    let detecting = if clone {
        detecting_body(ir, tables, plain, &watched.statements)
    } else {
        None
    };
    let body = PlainBody::new(ir, tables, &name);
    for statement in &watched.statements {
        body.site(statement);
    }
    if let Some(detecting) = detecting {
        plain_body::make_patchable(ir, plain);
        tables.add_variant(ir, plain, detecting, entry);
    }
}

fn detecting_body(ir: &Ir, tables: &mut Tables, plain: Value, statements: &[Statement]) -> Option<Value> {
    let mut clone = std::ptr::null_mut();
    let map = llvm!(shim::dh_clone(plain, &mut clone));
    if map.is_null() {
        return None;
    }
    let mapped = |value: Value| {
        if value.is_null() {
            value
        } else {
            llvm!(shim::dh_cloned_value(map, value))
        }
    };
    let statements: Vec<Statement> = statements
        .iter()
        .map(|s| Statement {
            owner: mapped(s.owner),
            before: mapped(s.before),
            pointer: mapped(s.pointer),
            success: mapped(s.success),
            extent: match s.extent {
                Extent::Dynamic(length) => Extent::Dynamic(mapped(length)),
                Extent::CopyOf(source) => Extent::CopyOf(mapped(source)),
                Extent::Appended(source) => Extent::Appended(mapped(source)),
                fixed => fixed,
            },
            ..*s
        })
        .collect();
    llvm!(shim::dh_clone_done(map));
    let optimised = !has_attribute(plain, "optnone");
    Detector::new(ir, tables).instrument(clone, &statements, optimised);
    Some(clone)
}

/// The function's symbol; one that has none, or a private one, gets one: assembly refers to it.
fn symbol(function: Value, n: usize) -> String {
    if llvm!(LLVMGetLinkage(function)) == LLVMLinkage::LLVMPrivateLinkage {
        llvm!(LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage));
    }
    if ir::name(function).is_empty() {
        let name = c_string(&format!("unnamed.{n}.dh"));
        llvm!(LLVMSetValueName2(function, name.as_ptr(), name.as_bytes().len()));
    }
    ir::name(function)
}

fn has_attribute(function: Value, attribute: &str) -> bool {
    llvm!({
        let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
        kind != 0 && !LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind).is_null()
    })
}

fn is_x86_64_linux(module: LLVMModuleRef) -> bool {
    let triple = llvm!(std::ffi::CStr::from_ptr(LLVMGetTarget(module)))
        .to_string_lossy()
        .into_owned();
    triple.starts_with("x86_64") && triple.contains("linux") && !triple.ends_with("x32")
}

fn source_name(module: LLVMModuleRef) -> String {
    let mut length = 0;
    let bytes = llvm!({
        let start = LLVMGetSourceFileName(module, &mut length);
        std::slice::from_raw_parts(start.cast::<u8>(), length)
    });
    String::from_utf8_lossy(bytes).into_owned()
}
