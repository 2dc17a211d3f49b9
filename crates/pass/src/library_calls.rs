//! Calls whose effect on memory is known by name: the C library's memory and string functions, LLVM's
//! memory and masked intrinsics, libatomic, and what frees.
//!
//! A name counts only if the module does not define it and the arguments have the right shape. A
//! function that may stop early (`strcmp`) or skip lanes (masked intrinsics) gives an inexact claim.

use crate::descriptors;
use crate::filled_buffers;
use crate::ir::{self, Ir, Value, constant, is_integer, is_plain_pointer, llvm, operand};
use crate::watched_statements::{Extent, Statement, result_of};
use deadheat_model::{MemoryOrder, SiteKind};
use deadheat_wire::object::{FLAG_INEXACT, FLAG_VOLATILE};
use llvm_sys::LLVMIntPredicate;
use llvm_sys::core::*;

/// Adds the statements that a call of a known function stands for.
pub fn of_call(ir: &Ir, call: Value, found: &mut Vec<Statement>) {
    let callee = llvm!(LLVMIsAFunction(LLVMGetCalledValue(call)));
    if callee.is_null() || llvm!(LLVMIsDeclaration(callee)) == 0 {
        return;
    }
    let name = ir::name(callee);
    let call = Call { ir, call, found };
    if let Some(intrinsic) = name.strip_prefix("llvm.") {
        call.intrinsic(intrinsic);
    } else if let Some(operation) = name.strip_prefix("__atomic_") {
        call.libatomic(operation);
    } else {
        // The checking variants of _FORTIFY_SOURCE take the same arguments first.
        let plain = name.strip_prefix("__").and_then(|n| n.strip_suffix("_chk"));
        let (name, checked) = (plain.unwrap_or(&name), plain.is_some());
        let Call { ir, call, found } = call.library(name, checked);
        if !checked {
            descriptors::of_call(ir, call, name, found);
        }
        filled_buffers::of_call(ir, call, name, checked, found);
    }
}

struct Call<'a> {
    ir: &'a Ir,
    call: Value,
    found: &'a mut Vec<Statement>,
}

impl Call<'_> {
    fn argument(&self, n: u32) -> Value {
        operand(self.call, n)
    }

    /// Whether the arguments begin as the shape says: `p` pointer, `n` 64-bit, `i` 32-bit integer.
    fn shaped(&self, shape: &str) -> bool {
        ir::argument_count(self.call) as usize >= shape.len()
            && shape.bytes().zip(0..).all(|(kind, n)| match kind {
                b'p' => is_plain_pointer(self.argument(n)),
                b'n' => is_integer(self.argument(n), 64),
                _ => is_integer(self.argument(n), 32),
            })
    }

    fn add(&mut self, kind: SiteKind, pointer: Value, extent: Extent, flags: u8) {
        if extent != Extent::Bytes(0) && is_plain_pointer(pointer) {
            let align = llvm!(crate::shim::dh_known_alignment(pointer, self.call));
            self.found.push(Statement {
                flags,
                align,
                ..Statement::access(self.call, kind, pointer, extent)
            });
        }
    }

    fn read(&mut self, n: u32, extent: Extent) {
        self.add(SiteKind::Read, self.argument(n), extent, 0);
    }

    fn write(&mut self, n: u32, extent: Extent) {
        self.add(SiteKind::Write, self.argument(n), extent, 0);
    }

    fn may_read(&mut self, n: u32, extent: Extent) {
        self.add(SiteKind::Read, self.argument(n), extent, FLAG_INEXACT);
    }

    /// As many bytes as argument `n` says.
    fn bytes(&self, n: u32) -> Extent {
        let length = self.argument(n);
        match constant(length) {
            Some(c) if c <= u32::MAX.into() => Extent::Bytes(c as u32),
            _ => Extent::Dynamic(length),
        }
    }

    /// The same of a function that may stop early: a length in a register tells the runtime that the first byte is sure.
    fn at_most(&self, n: u32) -> Extent {
        Extent::Dynamic(self.argument(n))
    }

    /// Some of these bytes, if any.
    fn may_read_some(&mut self, n: u32, extent: Extent) {
        let extent = match extent {
            Extent::Bytes(bytes) => Extent::Bytes(bytes),
            _ => Extent::Bytes(1),
        };
        self.add(SiteKind::Read, self.argument(n), extent, FLAG_INEXACT);
    }

    /// Items of a size: as many bytes; none if they are fewer than `least`.
    fn items(&self, count: u32, size: u32, least: u64) -> Value {
        let (ir, number) = (self.ir, self.argument(count));
        ir.position(self.call, self.call);
        let enough = ir.compare(LLVMIntPredicate::LLVMIntUGE, number, ir.int(least));
        ir.select(enough, ir.multiply(number, self.argument(size)), ir.int(0))
    }

    fn library(mut self, name: &str, checked: bool) -> Self {
        use Extent::{Appended, CString, CopyOf};
        match name {
            "memcpy" | "memmove" | "mempcpy" if self.shaped("ppn") => {
                self.read(1, self.bytes(2));
                self.write(0, self.bytes(2));
            }
            "memset" if self.shaped("pin") => self.write(0, self.bytes(2)),
            "bzero" | "explicit_bzero" if self.shaped("pn") => self.write(0, self.bytes(1)),
            "bcopy" if self.shaped("ppn") => {
                self.read(0, self.bytes(2));
                self.write(1, self.bytes(2));
            }
            "strnlen" | "strndup" | "__strndup" if self.shaped("pn") => self.may_read(0, self.at_most(1)),
            "strtol" | "strtoul" | "strtoll" | "strtoull" | "strtod" | "strtof" | "strtold" | "strtoimax"
            | "strtoumax" | "__isoc23_strtol" | "__isoc23_strtoul" | "__isoc23_strtoll" | "__isoc23_strtoull"
            | "atoi" | "atol" | "atoll" | "atof" | "strspn" | "strcspn" | "strpbrk" | "strchrnul" | "sscanf"
            | "__isoc99_sscanf" | "__isoc23_sscanf"
                if self.shaped("p") =>
            {
                self.read(0, Extent::Bytes(1));
            }
            "puts" | "fputs" | "fputs_unlocked" if self.shaped("p") => self.read(0, CString),
            "strstr" | "strcasestr" if self.shaped("pp") => self.may_read(1, CString),
            "strcasecmp" | "strcoll" if self.shaped("pp") => {
                self.may_read(0, CString);
                self.may_read(1, CString);
            }
            "strncasecmp" if self.shaped("ppn") => {
                self.may_read(0, self.at_most(2));
                self.may_read(1, self.at_most(2));
            }
            "strncat" if self.shaped("ppn") => {
                self.read(0, CString);
                self.may_read(1, self.at_most(2));
            }
            "strtok_r" | "__strtok_r" if self.shaped("ppp") => self.write(2, Extent::Bytes(8)),
            "strsep" | "__strsep_g" if self.shaped("pp") => self.read(0, Extent::Bytes(8)),
            "snprintf" | "vsnprintf" if self.shaped("pn") => {
                self.add(SiteKind::Write, self.argument(0), self.at_most(1), FLAG_INEXACT);
            }
            "sprintf" | "vsprintf" if self.shaped("p") => self.write(0, Extent::Bytes(1)),
            "fwrite" | "fwrite_unlocked" if self.shaped("pnnp") => {
                self.may_read(0, Extent::Dynamic(self.items(2, 1, 1)));
            }
            // Each element is compared, and a merge begins with the first.
            "qsort" if self.shaped("pnnp") => {
                let elements = Extent::Dynamic(self.items(1, 2, 2));
                self.may_read(0, elements);
                self.add(SiteKind::Write, self.argument(0), elements, FLAG_INEXACT);
            }
            "write" | "pwrite" | "pwrite64" | "send" | "sendto" if self.shaped("ipn") => {
                self.may_read_some(1, self.bytes(2));
            }
            "getline" if self.shaped("ppp") => {
                self.read(0, Extent::Bytes(8));
                self.read(1, Extent::Bytes(8));
            }
            "getdelim" | "__getdelim" if self.shaped("ppip") => {
                self.read(0, Extent::Bytes(8));
                self.read(1, Extent::Bytes(8));
            }
            "localtime_r" | "gmtime_r" if self.shaped("pp") => self.read(0, Extent::Bytes(8)),
            "nanosleep" if self.shaped("p") => self.read(0, Extent::Bytes(16)),
            // Before the thread begins.
            "pthread_create" if !checked && self.shaped("pp") => self.write(0, Extent::Bytes(8)),
            "memcmp" | "bcmp" if self.shaped("ppn") => {
                // LLVM makes it of `strcmp` and `strncmp` with a constant, which stop at the first difference.
                if (0..2).any(|n| llvm!(crate::shim::dh_is_constant_data(self.argument(n))) != 0) {
                    self.may_read(0, self.at_most(2));
                    self.may_read(1, self.at_most(2));
                } else {
                    self.read(0, self.bytes(2));
                    self.read(1, self.bytes(2));
                }
            }
            "memchr" if self.shaped("pin") => self.may_read(0, self.at_most(2)),
            "strlen" | "strdup" | "__strdup" if self.shaped("p") => self.read(0, CString),
            "strrchr" if self.shaped("pi") => self.read(0, CString),
            "strchr" if self.shaped("pi") => self.may_read(0, CString),
            "strcmp" if self.shaped("pp") => {
                self.may_read(0, CString);
                self.may_read(1, CString);
            }
            "strncmp" if self.shaped("ppn") => {
                self.may_read(0, self.at_most(2));
                self.may_read(1, self.at_most(2));
            }
            "strcpy" | "stpcpy" if self.shaped("pp") => {
                self.read(1, CString);
                self.write(0, CopyOf(self.argument(1)));
            }
            "strncpy" | "stpncpy" if self.shaped("ppn") => {
                self.may_read(1, self.at_most(2));
                self.write(0, self.bytes(2));
            }
            "strcat" if self.shaped("pp") => {
                self.read(0, CString);
                self.read(1, CString);
                self.write(0, Appended(self.argument(1)));
            }
            "free" | "cfree" | "realloc" | "reallocarray" if self.shaped("p") => {
                self.add(SiteKind::Free, self.argument(0), Extent::None, 0);
            }
            _ if (name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv")) && self.shaped("p") => {
                self.add(SiteKind::Free, self.argument(0), Extent::None, 0);
            }
            _ => {}
        }
        self
    }

    fn intrinsic(mut self, name: &str) {
        let family = name.split(".p0").next().unwrap_or(name);
        match family {
            "memcpy" | "memmove" | "memcpy.inline" => {
                let volatile = self.volatile(3);
                self.add(SiteKind::Read, self.argument(1), self.bytes(2), volatile);
                self.add(SiteKind::Write, self.argument(0), self.bytes(2), volatile);
            }
            "memset" | "memset.inline" => {
                let volatile = self.volatile(3);
                self.add(SiteKind::Write, self.argument(0), self.bytes(2), volatile);
            }
            _ => self.masked(family),
        }
    }

    fn volatile(&self, n: u32) -> u8 {
        if constant(self.argument(n)) == Some(1) {
            FLAG_VOLATILE
        } else {
            0
        }
    }

    /// Masked vector intrinsics claim all lanes, inexactly.
    fn masked(mut self, name: &str) {
        let Some(operation) = name.strip_prefix("masked.") else {
            return;
        };
        let result = ir::type_of(self.call);
        let operation = operation.split('.').next().unwrap_or_default();
        match operation {
            "load" | "expandload" => {
                let size = self.ir.store_size(result) as u32;
                self.add(SiteKind::Read, self.argument(0), Extent::Bytes(size), FLAG_INEXACT);
            }
            "store" | "compressstore" => {
                let size = self.ir.store_size(ir::type_of(self.argument(0))) as u32;
                self.add(SiteKind::Write, self.argument(1), Extent::Bytes(size), FLAG_INEXACT);
            }
            "gather" => self.lanes(SiteKind::Read, self.argument(0), result, self.argument(1)),
            "scatter" => {
                let vector = ir::type_of(self.argument(0));
                self.lanes(SiteKind::Write, self.argument(1), vector, self.argument(2));
            }
            _ => {}
        }
    }

    /// Lanes at addresses of their own; those that a constant mask has are exact.
    fn lanes(&mut self, kind: SiteKind, pointers: Value, vector: ir::Type, mask: Value) {
        let (count, size) = llvm!((
            LLVMGetVectorSize(vector),
            self.ir.store_size(LLVMGetElementType(vector)) as u32
        ));
        self.ir.position(self.call, self.call);
        for lane in 0..count {
            let flags = match llvm!({
                let known = !LLVMIsAConstant(mask).is_null();
                known.then(|| LLVMGetAggregateElement(mask, lane))
            }) {
                Some(set) if !set.is_null() && constant(set) == Some(1) => 0,
                Some(set) if !set.is_null() && constant(set) == Some(0) => continue,
                _ => FLAG_INEXACT,
            };
            let index = self.ir.int(lane.into());
            let pointer = llvm!(LLVMBuildExtractElement(self.ir.builder, pointers, index, c"".as_ptr()));
            self.ir.ours(pointer);
            self.add(kind, pointer, Extent::Bytes(size), flags);
        }
    }

    fn libatomic(mut self, operation: &str) {
        // `name_N` works on N bytes; without N the first argument is the size and operands are in memory.
        let (name, sized) = match operation.rsplit_once('_') {
            Some((name, n)) if matches!(n, "1" | "2" | "4" | "8" | "16") => (name, n.parse().ok()),
            _ => (operation, None),
        };
        let count = ir::argument_count(self.call);
        let first = u32::from(sized.is_none());
        if count < first + 2 || !is_plain_pointer(self.argument(first)) {
            return;
        }
        let extent = match sized {
            Some(n) => Extent::Bytes(n),
            None => self.bytes(0),
        };
        let kind = match name {
            "load" => SiteKind::AtomicLoad,
            "store" => SiteKind::AtomicStore,
            "exchange" => SiteKind::AtomicUpdate,
            "compare_exchange" if count >= first + 5 => SiteKind::AtomicCompareExchange,
            _ if sized.is_some() && (name.starts_with("fetch_") || name.ends_with("_fetch")) => SiteKind::AtomicUpdate,
            _ => return,
        };
        let order_at = if kind == SiteKind::AtomicCompareExchange {
            count - 2
        } else {
            count - 1
        };
        let order = |n| {
            constant(self.argument(n)).map_or(MemoryOrder::SequentiallyConsistent, |c| MemoryOrder::from_u8(c as u8))
        };
        let site = Statement {
            order: order(order_at),
            failure_order: order(count - 1),
            ..Statement::access(self.call, kind, self.argument(first), extent)
        };
        // The operands that lie in memory are read and written plainly.
        match (kind, sized) {
            (SiteKind::AtomicLoad, None) => self.write(2, extent),
            (SiteKind::AtomicStore, None) => self.read(2, extent),
            (SiteKind::AtomicUpdate, None) => {
                self.read(2, extent);
                self.write(3, extent);
            }
            (SiteKind::AtomicCompareExchange, _) => {
                self.add(SiteKind::ReadWrite, self.argument(first + 1), extent, FLAG_INEXACT);
                if sized.is_none() {
                    self.read(first + 2, extent);
                }
            }
            _ => {}
        }
        self.found.push(site);
        if kind == SiteKind::AtomicCompareExchange && ir::is_any_integer(self.call) {
            self.found.extend(result_of(&site));
        }
    }
}
