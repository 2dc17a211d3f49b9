//! Sites in the plain body: NOPs that know their operand, and their patch rows.
//!
//! A site is inline assembly: a NOP whose memory operand is the statement's address, long enough for a
//! jump, and a row in `dh_sites` that is tied to the function's section (link order and comdat group),
//! so that the linker drops both or none. Measured cost while off: 1.0 to 1.1 times native.

use crate::ir::{Ir, Type, Value, c_string, llvm};
use crate::tables::Tables;
use crate::watched_statements::{Extent, Statement};
use deadheat_model::SiteKind;
use deadheat_wire::object::{BACK_EDGE, SITES};
use llvm_sys::core::*;
use llvm_sys::{LLVMInlineAsmDialect, LLVMLinkage};

/// Writes the sites of a function's plain body.
pub struct PlainBody<'a> {
    ir: &'a Ir,
    tables: &'a Tables,
    /// The function's symbol as it stands in assembly text.
    symbol: String,
    element: llvm_sys::prelude::LLVMAttributeRef,
}

impl<'a> PlainBody<'a> {
    /// Prepares the function; `name` is its symbol.
    pub fn new(ir: &'a Ir, tables: &'a Tables, name: &str) -> PlainBody<'a> {
        let attribute = "elementtype";
        let element = llvm!({
            let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
            LLVMCreateTypeAttribute(ir.context, kind, ir.i8)
        });
        PlainBody {
            ir,
            tables,
            symbol: assembly_symbol(name),
            element,
        }
    }

    /// Writes one statement's site.
    pub fn site(&self, statement: &Statement) {
        let ir = self.ir;
        ir.position(statement.before, statement.owner);
        match (statement.kind, statement.extent) {
            (SiteKind::Fence | SiteKind::Exit, _) => {
                self.write(statement, ".byte 0x0f,0x1f,0x44,0x00,0x00", "", &[], false)
            }
            (SiteKind::BackEdge, _) => self.write(statement, &byte_directive(&BACK_EDGE), "", &[], false),
            (SiteKind::CompareExchangeResult, _) => {
                let success = success(ir, statement);
                self.write(statement, "{disp32} nopl ($0)", "r,", &[ir.widen(success)], false)
            }
            (_, Extent::Dynamic(length)) => self.range(statement, statement.pointer, ir.widen(length)),
            (_, Extent::CopyOf(source)) => self.range(statement, statement.pointer, string_size(ir, source)),
            (_, Extent::Appended(source)) => {
                let end = ir.offset(statement.pointer, string_length(ir, statement.pointer));
                self.range(statement, end, string_size(ir, source))
            }
            _ => self.write(statement, "{disp32} nopl $0", "*m,", &[statement.pointer], true),
        }
    }

    fn range(&self, statement: &Statement, pointer: Value, length: Value) {
        self.write(
            statement,
            "{disp32} nopl $0\nnopl ($1)",
            "*m,r,",
            &[pointer, length],
            true,
        )
    }

    fn write(&self, statement: &Statement, nop: &str, operands: &str, arguments: &[Value], in_memory: bool) {
        let ir = self.ir;
        let text = format!(
            "771: {nop}\n.pushsection {SITES},\"ao?\",@progbits,{}\n.long 771b - .\n.long {} - .\n.popsection",
            self.symbol,
            self.tables.label(statement.desc)
        );
        let constraints = format!("{operands}~{{memory}},~{{flags}}");
        let parameters: Vec<Type> = arguments.iter().map(|a| crate::ir::type_of(*a)).collect();
        let ty = ir.function_type(ir.void, &parameters);
        let assembly = llvm!(LLVMGetInlineAsm(
            ty,
            text.as_ptr().cast(),
            text.len(),
            constraints.as_ptr().cast(),
            constraints.len(),
            1,
            0,
            LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
            0,
        ));
        let call = ir.call(ty, assembly, arguments);
        if in_memory {
            llvm!(LLVMAddCallSiteAttribute(call, 1, self.element));
        }
    }
}

/// Bytes as inline assembly has them.
fn byte_directive(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
    format!(".byte {}", bytes.join(","))
}

/// A symbol as inline assembly has it: quoted only if it must be, as not every assembler knows quotes.
fn assembly_symbol(name: &str) -> String {
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$'));
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "$$");
    if plain && !name.starts_with(|c: char| c.is_ascii_digit()) {
        escaped
    } else {
        format!("\"{escaped}\"")
    }
}

/// Makes the function's entry patchable: five bytes of NOP before its first instruction.
pub fn make_patchable(ir: &Ir, function: Value) {
    let nop = [0x0f, 0x1f, 0x44, 0x00, 0x00u8];
    llvm!({
        let bytes = LLVMConstStringInContext2(ir.context, nop.as_ptr().cast(), nop.len(), 1);
        LLVMSetPrologueData(function, bytes);
    })
}

/// Whether a compare-exchange (instruction or library call) succeeded, as an integer.
pub fn success(ir: &Ir, statement: &Statement) -> Value {
    llvm!({
        if !LLVMIsAAtomicCmpXchgInst(statement.success).is_null() {
            ir.ours(LLVMBuildExtractValue(ir.builder, statement.success, 1, c"".as_ptr()))
        } else {
            statement.success
        }
    })
}

/// Calls `strlen`.
pub fn string_length(ir: &Ir, string: Value) -> Value {
    let ty = ir.function_type(ir.i64, &[ir.ptr]);
    let function = llvm!({
        let known = LLVMGetNamedFunction(ir.module, c"strlen".as_ptr());
        if known.is_null() {
            let new = LLVMAddFunction(ir.module, c_string("strlen").as_ptr(), ty);
            LLVMSetLinkage(new, LLVMLinkage::LLVMExternalLinkage);
            new
        } else {
            known
        }
    });
    ir.call(ty, function, &[string])
}

/// Bytes of a C string with its terminator.
pub fn string_size(ir: &Ir, string: Value) -> Value {
    ir.add(string_length(ir, string), ir.int(1))
}
