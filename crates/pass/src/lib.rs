//! The compiler plugin: two bodies per function, tables of what they watch, kept bitcode.
//!
//! Loaded by `clang-22 -fpass-plugin=libdeadheat_pass.so`. It takes part at two points:
//!
//! - start of the pipeline ([`kept_bitcode`]): takes the module's bitcode as the front end made it;
//! - end of optimisation ([`instrument`]): finds the [`watched_statements`] of each function, writes
//!   a site before each in the plain body ([`plain_body`]), clones the function first and gives the
//!   clone the inlined check ([`detecting_body`]), and writes the [`tables`].
//!
//! With `-mllvm -deadheat-symbolic` the module is to become part of a program's symbolic flavour: at the start
//! of the pipeline [`concolic`] adds the computation of expressions, and no bitcode is kept.
//!
//! The object format is defined in `deadheat_wire::object`. What the C API of LLVM lacks is in `cpp/`.
//!
//! Architecture invariant: a module's output depends on the module alone (no addresses, no clocks, no
//! environment), so builds are repeatable.

mod assembly_operands;
mod concolic;
mod covered_checks;
mod debug_location;
mod descriptors;
mod detecting_body;
mod filled_buffers;
mod inline_assembly;
mod instrument;
mod ir;
mod kept_bitcode;
mod library_calls;
mod made_loads;
mod plain_body;
mod range_checks;
mod read_modify_write;
mod section_globals;
mod seen_functions;
mod segment_register;
mod shim;
mod tables;
mod units;
mod used_lanes;
mod watched_functions;
mod watched_statements;

use std::ffi::{c_char, c_void};

/// LLVM's `PassPluginLibraryInfo`.
#[repr(C)]
pub struct PluginInfo {
    api: u32,
    name: *const c_char,
    version: *const c_char,
    register: Option<unsafe extern "C" fn(*mut c_void)>,
    before_code_generation: Option<unsafe extern "C" fn()>,
}

/// The plugin interface version of LLVM 22.
const PLUGIN_API: u32 = 2;

/// What LLVM looks up in a plugin.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PluginInfo {
    PluginInfo {
        api: PLUGIN_API,
        name: c"deadheat".as_ptr(),
        version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
        register: Some(shim::dh_register),
        before_code_generation: None,
    }
}
