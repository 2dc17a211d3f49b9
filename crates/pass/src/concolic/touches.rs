//! For the pruning of paths, with `-mllvm -deadheat-touches`: the runtime is told of each access, of what is asked of
//! code without instrumentation, and where the program stands at a branch.
//!
//! What a run knows at a branch must all lie in memory, where accesses tell of it: the front end's variables are left
//! there, and what values remain are written to it wherever they outlive a block or a call (`reg2mem`).
//!
//! *Where the program stands* is a hash of the sites of the calls that led there. The caller leaves it in the
//! thread's slots, and the callee takes it. A call that may go anywhere leaves its target there, too: instrumented
//! code takes that away, so that what is still there afterwards ran without instrumentation and is *opaque*. Of
//! functions of the C library that [`Asked`] knows it is not: what they do hangs on their arguments and on what was
//! asked before, which the runtime keeps as a hash.

use super::Concolic;
use super::branches::Branches;
use super::calls;
use super::slots;
use crate::ir::{self, Value, llvm};
use crate::shim;
use llvm_sys::LLVMIntPredicate;
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Whether this flavour tells of accesses.
pub fn wanted() -> bool {
    llvm!(shim::dh_touches()) != 0
}

/// Brings what functions keep into memory.
pub fn prepare(module: LLVMModuleRef) {
    super::run_passes(module, c"function(lower-switch)");
    for function in ir::functions(module) {
        if llvm!(LLVMIsDeclaration(function)) == 0 {
            llvm!(shim::dh_split_at_calls(function));
        }
    }
    super::run_passes(module, c"function(reg2mem)");
}

/// What is known of a function without instrumentation.
enum Asked {
    /// Reads memory and writes it out: nothing comes back.
    Output,
    /// What it does hangs on its arguments and on what was asked before.
    ByHistory,
    /// Nothing.
    Opaque,
}

/// Functions that write to where the program does not read, if their result is not used.
const OUTPUT: &[&str] = &["printf", "vprintf", "puts", "putchar", "perror"];
/// The same if this argument is standard output or standard error.
const OUTPUT_TO: &[(&str, i32)] = &[
    ("fprintf", 0),
    ("vfprintf", 0),
    ("fputs", 1),
    ("fputc", 1),
    ("putc", 1),
    ("fwrite", 3),
    ("fflush", 0),
];
/// See [`Asked::ByHistory`]; families end in `*`.
const BY_HISTORY: &[&str] = &[
    "__assert_fail",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__errno_location",
    "_exit",
    "abort",
    "atexit",
    "aligned_alloc",
    "calloc",
    "clock_gettime",
    "cnd_broadcast",
    "cnd_destroy",
    "cnd_init",
    "cnd_signal",
    "cnd_wait",
    "deadheat_assume",
    "deadheat_symbolic",
    "exit",
    "free",
    "getpagesize",
    "getpid",
    "gettimeofday",
    "isatty",
    "malloc",
    "mtx_destroy",
    "mtx_init",
    "mtx_lock",
    "mtx_trylock",
    "mtx_unlock",
    "posix_memalign",
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setdetachstate",
    "pthread_attr_setstacksize",
    "pthread_barrier_*",
    "pthread_cond_broadcast",
    "pthread_cond_destroy",
    "pthread_cond_init",
    "pthread_cond_signal",
    "pthread_cond_wait",
    "pthread_create",
    "pthread_detach",
    "pthread_equal",
    "pthread_exit",
    "pthread_getspecific",
    "pthread_join",
    "pthread_key_create",
    "pthread_mutex_destroy",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_mutexattr_*",
    "pthread_once",
    "pthread_rwlock_destroy",
    "pthread_rwlock_init",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_unlock",
    "pthread_rwlock_wrlock",
    "pthread_self",
    "pthread_setspecific",
    "pthread_spin_*",
    "rand",
    "random",
    "sched_yield",
    "sem_destroy",
    "sem_init",
    "sem_post",
    "sem_trywait",
    "sem_wait",
    "setbuf",
    "setlinebuf",
    "setlocale",
    "setvbuf",
    "sleep",
    "srand",
    "srandom",
    "sysconf",
    "thrd_create",
    "thrd_current",
    "thrd_exit",
    "thrd_join",
    "thrd_yield",
    "time",
    "usleep",
];
/// The same, in models alone: they tell what input these read.
const IN_MODELS: &[&str] = &["ferror", "fgetc", "fread", "fileno", "ftello", "getenv", "ungetc"];

/// What functions asked by history write: the argument that points there (or [`RESULT`]), and how many bytes, or the
/// product of two arguments from this one on.
const WRITES: &[(&str, u32, Bytes)] = &[
    ("calloc", RESULT, Bytes::Product(0)),
    ("clock_gettime", 1, Bytes::Count(16)),
    ("fread", 0, Bytes::Product(1)),
    ("gettimeofday", 0, Bytes::Count(16)),
    ("posix_memalign", 0, Bytes::Count(8)),
    ("pthread_create", 0, Bytes::Count(8)),
    ("pthread_join", 1, Bytes::Count(8)),
    ("pthread_key_create", 0, Bytes::Count(4)),
    ("thrd_create", 0, Bytes::Count(8)),
    ("thrd_join", 1, Bytes::Count(4)),
    ("time", 0, Bytes::Count(8)),
];
const RESULT: u32 = u32::MAX;

enum Bytes {
    Count(u64),
    Product(u32),
}

fn among(list: &[&str], name: &str) -> bool {
    list.iter().any(|known| match known.strip_suffix('*') {
        Some(family) => name.starts_with(family),
        None => *known == name,
    })
}

fn asked(call: Value, name: &str, in_model: bool) -> Asked {
    let unused = llvm!(LLVMGetFirstUse(call)).is_null();
    let standard =
        |(known, argument): &(&str, i32)| *known == name && llvm!(shim::dh_is_standard_stream(call, *argument)) != 0;
    if unused && (OUTPUT.contains(&name) || OUTPUT_TO.iter().any(standard)) {
        return Asked::Output;
    }
    if among(BY_HISTORY, name) || in_model && IN_MODELS.contains(&name) {
        return Asked::ByHistory;
    }
    Asked::Opaque
}

/// Odd, as a factor of hashes.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Concolic<'_> {
    /// The hash of the calls that led here, from the thread's slots.
    pub fn take_calls(&mut self, function: Value, first: Value) {
        self.position(first);
        let slot = |offset| self.slots.at(self.ir, offset);
        let calls = self.ir.load(self.ir.i64, slot(slots::CALLS), 8);
        let target = self.ir.load(self.ir.ptr, slot(slots::TARGET), 8);
        let null = llvm!(LLVMConstNull(self.ir.ptr));
        let own = self.ir.compare(LLVMIntPredicate::LLVMIntEQ, target, function);
        let left = llvm!(LLVMBuildSelect(self.ir.builder, own, null, target, c"".as_ptr()));
        self.ir.store(left, slot(slots::TARGET));
        let strange = self.ir.compare(LLVMIntPredicate::LLVMIntNE, left, null);
        self.guarded(strange, first, || self.opaque());
        self.stack = Some(calls);
    }

    fn opaque(&self) {
        self.call("dh_sym_opaque", self.ir.void, &[]);
    }

    fn times(&self, a: Value, b: u64) -> Value {
        llvm!(LLVMBuildMul(self.ir.builder, a, self.ir.int(b), c"".as_ptr()))
    }

    /// Before a branch on input: where the program stands.
    pub fn stands(&self) {
        if let Some(calls) = self.stack {
            self.call("dh_sym_stands", self.ir.void, &[calls]);
        }
    }

    fn told(&self, name: &str, pointer: Value, size: Value) {
        if ir::is_plain_pointer(pointer) {
            let address = self.ir.address(pointer);
            self.call(name, self.ir.void, &[address, size, self.site]);
        }
    }

    /// Tells of an access, whose expressions are there already.
    pub fn touch(&mut self, i: Value) {
        let opcode = ir::opcode(i);
        let (pointer, ty) = match opcode {
            LLVMLoad => (ir::operand(i, 0), ir::type_of(i)),
            LLVMStore => (ir::operand(i, 1), ir::type_of(ir::operand(i, 0))),
            LLVMAtomicRMW | LLVMAtomicCmpXchg => (ir::operand(i, 0), ir::type_of(ir::operand(i, 1))),
            LLVMLandingPad => {
                self.position(llvm!(LLVMGetNextInstruction(i)));
                return self.opaque();
            }
            _ => return,
        };
        let constant = llvm!(!LLVMIsAGlobalVariable(pointer).is_null() && LLVMIsGlobalConstant(pointer) != 0);
        if constant {
            return;
        }
        let size = self.ir.int(self.ir.store_size(ty));
        let atomic = opcode == LLVMAtomicRMW
            || opcode == LLVMAtomicCmpXchg
            || llvm!(LLVMGetOrdering(i)) != llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
        self.position(i);
        if atomic {
            // What orders threads is part of the history, as calls are.
            let (address, site) = (self.ir.address(pointer), self.site);
            self.asks(site, &[address]);
        }
        if opcode != LLVMStore {
            self.told("dh_sym_reads", pointer, size);
        }
        if opcode != LLVMLoad {
            self.position(llvm!(LLVMGetNextInstruction(i)));
            self.told("dh_sym_wrote", pointer, size);
        }
        self.position(i);
    }

    /// Something enters the history.
    fn asks(&self, what: Value, arguments: &[Value]) {
        let mut hash = self.ir.xor(what, self.stack.unwrap_or_else(|| self.ir.int(0)));
        for argument in arguments {
            hash = self.ir.xor(self.times(hash, FACTOR), *argument);
            let high = llvm!(LLVMBuildLShr(self.ir.builder, hash, self.ir.int(29), c"".as_ptr()));
            hash = self.ir.xor(hash, high);
        }
        self.call("dh_sym_asks", self.ir.void, &[hash]);
    }

    /// Tells of a call: what it accesses itself, and where it leads.
    pub fn calls(&mut self, i: Value, function: &str, branches: &Branches, n: u32) {
        let callee = llvm!(LLVMGetCalledValue(i));
        let known = !llvm!(LLVMIsAFunction(callee)).is_null();
        let name = if known { ir::name(callee) } else { String::new() };
        self.position(i);
        if !llvm!(LLVMIsAInlineAsm(callee)).is_null() {
            return self.opaque();
        }
        let in_model = calls::is_model(function);
        if let Some(intrinsic) = name.strip_prefix("llvm.") {
            return self.tells_of_intrinsic(i, intrinsic, in_model);
        }
        if in_model && matches!(&*name, "memcpy" | "memmove") {
            return self.tells_of_intrinsic(i, &name, in_model);
        }
        if name.starts_with("dh_sym_") {
            return;
        }
        let site = branches.site(&format!("{function}()"), n);
        let from = self.stack.unwrap_or_else(|| self.ir.int(0));
        let here = self.ir.add(self.times(from, FACTOR), self.ir.int(site));
        self.ir.store(here, self.slots.at(self.ir, slots::CALLS));
        if llvm!(shim::dh_has_byval(i)) != 0 {
            self.opaque();
        }
        let model = calls::is_model(&name);
        if known && (llvm!(LLVMIsDeclaration(callee)) == 0 || model) {
            if model && llvm!(LLVMIsFunctionVarArg(LLVMGetCalledFunctionType(i))) != 0 {
                // Its list is made where nobody sees it.
                self.asks_or_opaque(i, here);
            }
            return;
        }
        match asked(i, &name, in_model) {
            Asked::Output => {}
            Asked::ByHistory => {
                self.asks_or_opaque(i, here);
                self.writes(i, &name);
            }
            Asked::Opaque => self.watch(i, callee),
        }
    }

    /// A call with these arguments enters the history, if they can be told.
    fn asks_or_opaque(&self, i: Value, here: Value) {
        let Some(words) = self.words(i) else {
            return self.opaque();
        };
        self.asks(here, &words);
        let arguments = (0..ir::argument_count(i)).map(|n| ir::operand(i, n));
        let ids: Vec<Value> = arguments.filter_map(|a| self.id(a)).collect();
        if !ids.is_empty() {
            // What it does for another input is not known.
            let some = self.any(&ids);
            self.guarded(some, i, || self.opaque());
        }
    }

    /// Behind a call: what it wrote.
    fn writes(&self, i: Value, name: &str) {
        let point = llvm!(shim::dh_result_point(i));
        let Some((_, at, bytes)) = WRITES.iter().find(|(known, ..)| *known == name) else {
            return;
        };
        let count = ir::argument_count(i);
        let last = match bytes {
            Bytes::Count(_) => 0,
            Bytes::Product(n) => n + 1,
        };
        if point.is_null() || last >= count || *at != RESULT && *at >= count {
            return self.opaque();
        }
        self.position(point);
        let pointer = if *at == RESULT { i } else { ir::operand(i, *at) };
        let size = match bytes {
            Bytes::Count(n) => self.ir.int(*n),
            Bytes::Product(n) => {
                let (a, b) = (self.wide(ir::operand(i, *n)), self.wide(ir::operand(i, n + 1)));
                llvm!(LLVMBuildMul(self.ir.builder, a, b, c"".as_ptr()))
            }
        };
        self.told("dh_sym_wrote", pointer, size);
        self.position(i);
    }

    /// The arguments of a call in 64 bits each; `None` if there are others.
    fn words(&self, i: Value) -> Option<Vec<Value>> {
        (0..ir::argument_count(i))
            .map(|n| ir::operand(i, n))
            .map(|a| (self.width_of(a) > 0).then(|| self.wide(a)))
            .collect()
    }

    /// A call that may go anywhere: opaque if no instrumented function took its target away.
    fn watch(&mut self, i: Value, callee: Value) {
        self.ir.store(callee, self.slots.at(self.ir, slots::TARGET));
        let point = llvm!(shim::dh_result_point(i));
        if point.is_null() {
            return self.opaque();
        }
        self.position(point);
        let left = self.ir.load(self.ir.ptr, self.slots.at(self.ir, slots::TARGET), 8);
        let null = llvm!(LLVMConstNull(self.ir.ptr));
        let strange = self.ir.compare(LLVMIntPredicate::LLVMIntNE, left, null);
        self.ir.store(null, self.slots.at(self.ir, slots::TARGET));
        self.guarded(strange, point, || self.opaque());
        self.position(i);
    }

    fn tells_of_intrinsic(&mut self, i: Value, name: &str, in_model: bool) {
        let argument = |n| ir::operand(i, n);
        let after = llvm!(LLVMGetNextInstruction(i));
        if name.starts_with("memcpy") || name.starts_with("memmove") {
            let length = self.wide(argument(2));
            self.told("dh_sym_reads", argument(1), length);
            self.position(after);
            self.told("dh_sym_wrote", argument(0), length);
        } else if name.starts_with("memset") {
            let length = self.wide(argument(2));
            self.position(after);
            self.told("dh_sym_wrote", argument(0), length);
        } else if name.starts_with("va_") && !in_model || name.starts_with("masked.") || name.starts_with("eh.") {
            self.opaque();
        }
        self.position(i);
    }
}
