//! Memory that a call of the C library writes if it succeeds: how much, if anything, its result tells. So the site stands
//! behind the call, where the result is known; the call has made the access by then, and does nothing after it that
//! others could be ordered by. What a call reads (`write`, `send`) has no such site: whoever gets the data comes after it.

use crate::ir::{self, Ir, Value, constant, is_integer, is_plain_pointer, llvm, operand};
use crate::watched_statements::{Extent, Statement};
use deadheat_model::SiteKind;
use llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE, LLVMIntSGT};
use llvm_sys::core::*;

/// Bytes of structures that calls fill in.
const TIME: u64 = 16;
const BROKEN_DOWN_TIME: u64 = 56;
const FILE_STATUS: u64 = 144;
const POINTER: u64 = 8;

/// Adds the statements for what a call of this function writes; `checked`: it is the variant of _FORTIFY_SOURCE, whose
/// arguments may stand elsewhere.
pub fn of_call(ir: &Ir, call: Value, name: &str, checked: bool, found: &mut Vec<Statement>) {
    let Some(before) = behind(call) else { return };
    let filled = Filled {
        ir,
        call,
        before,
        found,
    };
    filled.library(name, checked);
}

/// The instruction that comes next where the call returns, if none comes there from elsewhere.
fn behind(call: Value) -> Option<Value> {
    llvm!({
        if LLVMIsAInvokeInst(call).is_null() {
            let next = LLVMGetNextInstruction(call);
            return (!next.is_null() && LLVMIsATerminatorInst(call).is_null()).then_some(next);
        }
        let block = LLVMGetNormalDest(call);
        let first_use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
        let alone = !first_use.is_null() && LLVMGetNextUse(first_use).is_null();
        let mut instructions = ir::instructions(block).into_iter();
        instructions.find(|i| alone && LLVMIsAPHINode(*i).is_null())
    })
}

struct Filled<'a> {
    ir: &'a Ir,
    call: Value,
    before: Value,
    found: &'a mut Vec<Statement>,
}

impl Filled<'_> {
    fn argument(&self, n: u32) -> Value {
        operand(self.call, n)
    }

    /// Whether the arguments begin as the shape says (`p` pointer, `n` 64-bit, `i` 32-bit integer), and the result is
    /// the last of it.
    fn shaped(&self, arguments: &str, result: char) -> bool {
        let is = |value: Value, kind: u8| match kind {
            b'p' => is_plain_pointer(value),
            b'n' => is_integer(value, 64),
            _ => is_integer(value, 32),
        };
        ir::argument_count(self.call) as usize >= arguments.len()
            && arguments.bytes().zip(0..).all(|(kind, n)| is(self.argument(n), kind))
            && is(self.call, result as u8)
    }

    fn write(&mut self, pointer: Value, length: Value) {
        if is_plain_pointer(pointer) && constant(length) != Some(0) {
            let site = Statement::access(self.call, SiteKind::Write, pointer, Extent::Dynamic(length));
            self.found.push(Statement {
                before: self.before,
                ..site
            });
        }
    }

    /// So many bytes if the condition holds, else none.
    fn if_so(&self, condition: Value, bytes: Value) -> Value {
        self.ir.select(condition, bytes, self.ir.int(0))
    }

    /// So many items as the result says, if it is positive.
    fn counted(&mut self, n: u32, item: Option<Value>) {
        self.ir.position(self.before, self.call);
        let any = self.ir.compare(LLVMIntSGT, self.call, self.ir.int(0));
        let bytes = item.map_or(self.call, |size| self.ir.multiply(self.call, size));
        let length = self.if_so(any, bytes);
        self.write(self.argument(n), length);
    }

    /// So many bytes if the result is zero.
    fn if_zero(&mut self, n: u32, bytes: u64) {
        self.ir.position(self.before, self.call);
        let zero = llvm!(LLVMConstNull(LLVMTypeOf(self.call)));
        let fine = self.ir.compare(LLVMIntEQ, self.call, zero);
        let length = self.if_so(fine, self.ir.int(bytes));
        self.write(self.argument(n), length);
    }

    /// So many bytes if the result is the argument, which is no null pointer.
    fn if_given_back(&mut self, n: u32, bytes: u64) {
        self.ir.position(self.before, self.call);
        let null = llvm!(LLVMConstNull(LLVMTypeOf(self.call)));
        let same = self.ir.compare(LLVMIntEQ, self.call, self.argument(n));
        let fine = self.ir.compare(LLVMIntNE, self.call, null);
        let both = self.ir.and(same, fine);
        let length = self.if_so(both, self.ir.int(bytes));
        self.write(self.argument(n), length);
    }

    /// The line that the first argument points to, with its end.
    fn line(&mut self) {
        self.ir.position(self.before, self.call);
        let any = self.ir.compare(LLVMIntSGT, self.call, self.ir.int(0));
        let length = self.if_so(any, self.ir.add(self.call, self.ir.int(1)));
        let line = self.ir.load(self.ir.ptr, self.argument(0), 1);
        self.write(line, length);
    }

    /// The first byte of each argument from `first` on that was converted.
    fn converted(&mut self, first: u32) {
        self.ir.position(self.before, self.call);
        for n in first..ir::argument_count(self.call) {
            let more = llvm!(LLVMConstInt(LLVMTypeOf(self.call), u64::from(n - first), 1));
            let done = self.ir.compare(LLVMIntSGT, self.call, more);
            let length = self.if_so(done, self.ir.int(1));
            self.write(self.argument(n), length);
        }
    }

    fn library(mut self, name: &str, checked: bool) {
        match name {
            "read" | "pread" | "pread64" | "recv" | "recvfrom" if self.shaped("ipn", 'n') => self.counted(1, None),
            "readlink" if self.shaped("ppn", 'n') => self.counted(1, None),
            "getrandom" if self.shaped("pni", 'n') => self.counted(0, None),
            "fread" | "fread_unlocked" if !checked && self.shaped("pnnp", 'n') => {
                self.counted(0, Some(self.argument(1)));
            }
            "fgets" | "fgets_unlocked" | "getcwd" | "gets" if self.shaped("p", 'p') => self.if_given_back(0, 1),
            "realpath" if self.shaped("pp", 'p') => self.if_given_back(1, 1),
            "inet_ntop" if self.shaped("ipp", 'p') => self.if_given_back(2, 1),
            "localtime_r" | "gmtime_r" if self.shaped("pp", 'p') => self.if_given_back(1, BROKEN_DOWN_TIME),
            "asctime_r" | "ctime_r" if self.shaped("pp", 'p') => self.if_given_back(1, 1),
            "getline" if self.shaped("ppp", 'n') => self.line(),
            "getdelim" | "__getdelim" if self.shaped("ppip", 'n') => self.line(),
            "clock_gettime" | "clock_getres" if self.shaped("ip", 'i') => self.if_zero(1, TIME),
            "gettimeofday" if self.shaped("pp", 'i') => self.if_zero(0, TIME),
            "stat" | "lstat" | "stat64" | "lstat64" if self.shaped("pp", 'i') => self.if_zero(1, FILE_STATUS),
            "fstat" | "fstat64" if self.shaped("ip", 'i') => self.if_zero(1, FILE_STATUS),
            "pipe" if self.shaped("p", 'i') => self.if_zero(0, 8),
            "pipe2" if self.shaped("pi", 'i') => self.if_zero(0, 8),
            "getaddrinfo" if self.shaped("pppp", 'i') => self.if_zero(3, POINTER),
            "sscanf" | "__isoc99_sscanf" | "__isoc23_sscanf" | "fscanf" | "__isoc99_fscanf" | "__isoc23_fscanf"
                if self.shaped("pp", 'i') && self.in_order(1) =>
            {
                self.converted(2);
            }
            "scanf" | "__isoc99_scanf" | "__isoc23_scanf" if self.shaped("p", 'i') && self.in_order(0) => {
                self.converted(1);
            }
            _ => {}
        }
    }

    /// Whether an argument is a format known here, whose conversions name no arguments by number.
    fn in_order(&self, n: u32) -> bool {
        llvm!({
            let global = LLVMIsAGlobalVariable(self.argument(n));
            if global.is_null() || LLVMIsGlobalConstant(global) == 0 {
                return false;
            }
            ir::initial_string(global).is_some_and(|text| !text.contains(&b'$'))
        })
    }
}
