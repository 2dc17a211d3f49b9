//! Descriptors and streams as objects: a call that uses one reads it, one that closes it writes it. A descriptor is a word
//! of the runtime's table, of which each number has one; a stream is its first byte.

use crate::ir::{self, Ir, Value, constant, is_integer, is_plain_pointer, llvm, operand};
use crate::watched_statements::{Extent, Statement};
use deadheat_model::SiteKind;
use deadheat_wire::object::{DESCRIPTOR_SIZE, DESCRIPTORS, DESCRIPTORS_NAME};
use llvm_sys::LLVMIntPredicate::LLVMIntULT;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;

/// Standard input and output and standard error are closed by nobody.
const LAST_STANDARD: u64 = 2;

/// Adds the use of a descriptor or a stream that a call of this function is.
pub fn of_call(ir: &Ir, call: Value, name: &str, found: &mut Vec<Statement>) {
    let (kind, n) = match name {
        "close" => (SiteKind::Write, 0),
        // It takes the number's file away from nobody: who uses it meanwhile has the one or the other.
        "dup2" | "dup3" => (SiteKind::Read, 1),
        "read" | "pread" | "pread64" | "readv" | "write" | "pwrite" | "pwrite64" | "writev" | "recv" | "recvfrom"
        | "recvmsg" | "send" | "sendto" | "sendmsg" | "accept" | "accept4" | "lseek" | "lseek64" | "fsync"
        | "fdatasync" | "ftruncate" | "ftruncate64" | "dup" => (SiteKind::Read, 0),
        "fclose" => return of_stream(call, SiteKind::Write, 0, found),
        "fprintf" | "vfprintf" | "fscanf" | "__isoc99_fscanf" | "fgetc" | "getc" | "fseek" | "fseeko" | "ftell"
        | "ftello" | "rewind" | "feof" | "ferror" => return of_stream(call, SiteKind::Read, 0, found),
        "fputs" | "fputc" | "putc" | "ungetc" => return of_stream(call, SiteKind::Read, 1, found),
        "fgets" => return of_stream(call, SiteKind::Read, 2, found),
        "fread" | "fwrite" => return of_stream(call, SiteKind::Read, 3, found),
        _ => return,
    };
    if ir::argument_count(call) <= n || !is_integer(operand(call, n), 32) {
        return;
    }
    let descriptor = operand(call, n);
    if constant(descriptor).is_some_and(|number| number <= LAST_STANDARD || number >= DESCRIPTORS) {
        return;
    }
    ir.position(call, call);
    let number = ir.widen(descriptor);
    let known = ir.compare(LLVMIntULT, number, ir.int(DESCRIPTORS));
    let length = ir.select(known, ir.int(1), ir.int(0));
    let within = ir.select(known, number, ir.int(0));
    let pointer = ir.offset(table(ir), ir.multiply(within, ir.int(DESCRIPTOR_SIZE)));
    found.push(Statement::access(call, kind, pointer, Extent::Dynamic(length)));
}

fn of_stream(call: Value, kind: SiteKind, n: u32, found: &mut Vec<Statement>) {
    // The checking variants have the stream elsewhere; where that is no pointer it is not looked for.
    if ir::argument_count(call) > n && is_plain_pointer(operand(call, n)) {
        found.push(Statement::access(call, kind, operand(call, n), Extent::Bytes(1)));
    }
}

/// The runtime's table; absent from what is linked without it.
fn table(ir: &Ir) -> Value {
    let name = ir::c_string(DESCRIPTORS_NAME);
    llvm!({
        let known = LLVMGetNamedGlobal(ir.module, name.as_ptr());
        if !known.is_null() {
            return known;
        }
        let table = LLVMAddGlobal(ir.module, ir.i8, name.as_ptr());
        LLVMSetLinkage(table, LLVMLinkage::LLVMExternalWeakLinkage);
        table
    })
}
