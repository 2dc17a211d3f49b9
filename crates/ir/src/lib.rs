//! The intermediate representation (IR) that the static stages work on.
//!
//! LLVM's bitcode is lowered into it once, module by module, in a process of its own (crate `bitcode`); nothing
//! here knows LLVM, so that analyses and their tests build and start without it.
//!
//! # Shape
//!
//! A [`Module`] is flat tables joined by [typed indices](ids): [strings](Module::strings), named
//! [structs](StructType), [tags](Tag) (a field of a struct), [constants](Constant), [symbols](Symbol) (functions,
//! variables, aliases, ifuncs in one index space), [locations](Location), and the [bodies](Function) of the
//! functions that it defines. [`Program::link`] joins modules by symbol name into one module again: an analysis
//! sees a single set of tables.
//!
//! A [`Function`] is in SSA form: basic [blocks](Block), each a run of [instructions](Instruction) and one
//! [terminator](Terminator). Its [locals](LocalId) are the parameters, then **every** instruction in order, whether
//! it gives a value or not: the instruction that defines local `l` is number `l - parameters`, and a table indexed by
//! local needs no map. An operand is a [`Value`]: a local or a constant.
//!
//! Pointers are opaque, as in LLVM. What remains of types is what analyses use: the [`Class`] of each value, the byte
//! size of each access, the byte offset of each address computation ([`Operation::Offset`]: a constant part, and
//! index times stride for what varies), and the fields it went through, as tags.
//!
//! Calls, invokes and `callbr` are one operation, [`Operation::Call`]; where an invoke goes on is its block's
//! terminator. Intrinsics with a meaning here have operations of their own (memory copies and fills, atomics); those
//! that only describe are dropped; the rest are calls of functions named `llvm.…`.
//!
//! # Text
//!
//! A module prints as text ([`Module`] is [`Display`](std::fmt::Display)) and parses back ([`parse`]). The form is made for
//! tests:
//!
//! ```
//! let module = deadheat_ir::parse(
//!     r#"
//! module "bank.c"
//! struct %account 16 { 0 i64 8 "balance", 8 ptr 8 "next" }
//! global @accounts internal 8
//! declare @pthread_mutex_lock (ptr) i32
//! define @deposit (ptr, i64) i32 at "bank.c":10 {
//! entry:
//!   %locked = call @pthread_mutex_lock(%0) at 11:3
//!   %field = offset %0 + 8 [account+8]
//!   %old = load i64 8 %0 tag account+0 at 12:5
//!   %new = add %old, %1
//!   store i64 8 %new to %0 tag account+0 at 12:5
//!   %failed = eq %locked, 0i32
//!   branch %failed, yes, no
//! yes:
//!   return 0i32
//! no:
//!   return 1i32
//! }
//! "#,
//! )
//! .unwrap();
//! let deposit = &module.functions[0];
//! assert_eq!((deposit.parameters, deposit.blocks.len()), (2, 3));
//! assert_eq!(deadheat_ir::parse(&module.to_string()).unwrap().to_string(), module.to_string());
//! ```
//!
//! Architecture invariant: no I/O, no unsafe, no LLVM.
#![forbid(unsafe_code)]

pub mod constant;
pub mod function;
pub mod ids;
pub mod instruction;
pub mod linkage;
pub mod location;
pub mod module;
pub mod symbol;
mod text;
pub mod types;

pub use constant::{Constant, Value};
pub use function::{Block, Function};
pub use ids::{BlockId, ConstantId, FunctionId, LocalId, LocationId, SignatureId, StringId, StructId, SymbolId, TagId};
pub use instruction::{
    Access, AssemblyOperand, AssemblyRole, BinaryOperator, Callee, CastKind, Instruction, MemoryOrder, Operation,
    Predicate, RmwOperator, Terminator,
};
pub use linkage::{Duplicate, LinkReport, Program};
pub use location::Location;
pub use module::{Module, ModuleBuilder, Provenance};
pub use symbol::{Attributes, Initialiser, Linkage, Symbol, SymbolKind};
pub use text::{ParseError, parse};
pub use types::{Class, Field, Signature, StructType, Tag};
