//! Calls: numbers of arguments and results through the slots, intrinsics, models of library functions.
//!
//! A call of a library function that has a model calls the model instead: `dh_model_NAME`, written as plain
//! C and instrumented like the program, so that loops over strings leave their constraints
//! (`crates/runtime/models`). What has none gets concrete arguments and gives a concrete result; memory that it
//! writes is noticed by the values of the expressions there.

use super::Concolic;
use super::slots::{self, ARGUMENTS};
use crate::ir::{self, Value, c_string, llvm};
use crate::shim;
use deadheat_wire::trace::op;
use llvm_sys::LLVMIntPredicate;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;

/// Functions that have a model: the list that the models are built by.
const MODELS: &str = include_str!("../../../runtime/models/names.txt");
/// Models' names begin so.
const PREFIX: &str = "dh_model_";

/// Whether calls of this function go to a model.
pub fn has_model(name: &str) -> bool {
    MODELS.lines().any(|line| line == name)
}

/// Whether a function is such a model, or part of one.
pub fn is_model(name: &str) -> bool {
    name.starts_with(PREFIX)
}

impl Concolic<'_> {
    /// Instruments a call or invoke.
    pub fn call_site(&mut self, i: Value, function: &str) {
        let mut callee = llvm!(LLVMGetCalledValue(i));
        let arguments: Vec<Value> = (0..ir::argument_count(i)).map(|n| ir::operand(i, n)).collect();
        if !llvm!(LLVMIsAInlineAsm(callee)).is_null() {
            arguments.iter().for_each(|a| self.lost(*a, i));
            return;
        }
        let known = !llvm!(LLVMIsAFunction(callee)).is_null();
        let name = if known { ir::name(callee) } else { String::new() };
        if name.starts_with("llvm.") {
            self.intrinsic(i, &name, &arguments);
            return;
        }
        if name.starts_with("dh_sym_") && name != "dh_sym_assume" {
            return;
        }
        let outside = known
            && llvm!(
                LLVMIsDeclaration(callee) != 0 || LLVMGetLinkage(callee) == LLVMLinkage::LLVMAvailableExternallyLinkage
            );
        if outside && !function.starts_with(PREFIX) && has_model(&name) {
            callee = self.redirect(i, callee, &name);
        }
        if !known {
            self.pin(callee, i);
        }
        if llvm!(shim::dh_has_byval(i)) != 0 {
            // The copy lies where only the code generator knows: what was symbolic in it becomes concrete.
            self.call("dh_sym_lost", self.ir.void, &[]);
        }
        self.pass_arguments(i, callee, &arguments);
        self.take_result(i, callee);
    }

    /// Makes the call one of the model.
    fn redirect(&self, i: Value, callee: Value, name: &str) -> Value {
        let model = c_string(&format!("{PREFIX}{name}"));
        llvm!({
            let ty = LLVMGlobalGetValueType(callee);
            let known = LLVMGetNamedFunction(self.ir.module, model.as_ptr());
            let function = if known.is_null() {
                LLVMAddFunction(self.ir.module, model.as_ptr(), ty)
            } else {
                known
            };
            LLVMSetOperand(i, LLVMGetNumOperands(i) as u32 - 1, function);
            function
        })
    }

    fn pass_arguments(&self, i: Value, callee: Value, arguments: &[Value]) {
        let most = ARGUMENTS as usize;
        let known: Vec<Value> = arguments.iter().take(most).filter_map(|a| self.id(*a)).collect();
        if known.is_empty() {
            return;
        }
        let variadic = llvm!(LLVMIsFunctionVarArg(LLVMGetCalledFunctionType(i))) != 0;
        let some = self.any(&known);
        self.guarded(some, i, || {
            for (n, argument) in arguments.iter().take(most).enumerate() {
                let id = self.id_or_zero(*argument);
                self.ir.store(id, self.slots.number(self.ir, slots::ARGUMENT, n as u32));
            }
            if variadic {
                let integers = arguments.iter().filter(|a| self.width_of(**a) > 0).take(most);
                let mut used = 0;
                for (n, argument) in integers.enumerate() {
                    let id = self.id_or_zero(*argument);
                    self.ir.store(id, self.slots.number(self.ir, slots::VARIABLE, n as u32));
                    used = n as u32 + 1;
                }
                for n in used..ARGUMENTS {
                    self.ir
                        .store(self.c32(0), self.slots.number(self.ir, slots::VARIABLE, n));
                }
            }
            self.ir.store(callee, self.slots.at(self.ir, slots::CALLEE));
        });
    }

    fn take_result(&mut self, i: Value, callee: Value) {
        let width = self.width_of(i);
        let fields = self.flat_fields(ir::type_of(i));
        if width == 0 && fields.is_none() {
            return;
        }
        let point = llvm!(shim::dh_result_point(i));
        if point.is_null() {
            return;
        }
        self.position(point);
        let from = self.ir.load(self.ir.ptr, self.slots.at(self.ir, slots::RETURNED), 8);
        let own = self.ir.compare(LLVMIntPredicate::LLVMIntEQ, from, callee);
        let numbers = self.guarded_id(own, point, || {
            self.ir.load(self.ir.i64, self.slots.at(self.ir, slots::RESULT), 8)
        });
        let half = |shift: u64| {
            llvm!({
                let moved = LLVMBuildLShr(self.ir.builder, numbers, self.ir.int(shift), c"".as_ptr());
                LLVMBuildTrunc(self.ir.builder, moved, self.ir.i32, c"".as_ptr())
            })
        };
        match fields {
            None => {
                let id = half(0);
                self.ids.insert(i, id);
            }
            Some(widths) => {
                let ids = widths
                    .iter()
                    .enumerate()
                    .map(|(n, w)| (*w > 0).then(|| half(32 * n as u64)));
                let ids = ids.collect();
                self.fields.insert(i, ids);
            }
        }
    }

    /// The function returns: the result's number into the slots.
    pub fn returns(&self, i: Value, function: Value) {
        if llvm!(LLVMGetNumOperands(i)) != 1 {
            return;
        }
        let value = ir::operand(i, 0);
        let ids: Vec<Value> = if self.width_of(value) > 0 {
            self.id(value).into_iter().collect()
        } else if self.flat_fields(ir::type_of(value)).is_some() {
            let fields = self.fields.get(&value).cloned().unwrap_or_default();
            if fields.iter().all(Option::is_none) {
                return;
            }
            fields.into_iter().map(|f| f.unwrap_or_else(|| self.c32(0))).collect()
        } else {
            return;
        };
        // Whoever returned before must not be taken for this one: a concrete result clears the name.
        let name = self.slots.at(self.ir, slots::RETURNED);
        self.ir.store(llvm!(LLVMConstNull(self.ir.ptr)), name);
        if ids.is_empty() {
            return;
        }
        let some = self.any(&ids);
        self.guarded(some, i, || {
            for (n, id) in ids.iter().chain([&self.c32(0)]).take(2).enumerate() {
                self.ir.store(*id, self.slots.number(self.ir, slots::RESULT, n as u32));
            }
            self.ir.store(function, self.slots.at(self.ir, slots::RETURNED));
        });
    }

    fn intrinsic(&mut self, i: Value, name: &str, arguments: &[Value]) {
        let base = name.strip_prefix("llvm.").unwrap_or(name);
        let is = |family: &str| base == family || base.strip_prefix(family).is_some_and(|rest| rest.starts_with('.'));
        let length = |this: &Self| {
            this.pin(arguments[2], i);
            this.wide(arguments[2])
        };
        if is("memcpy") || is("memmove") || is("memcpy.inline") {
            let n = length(self);
            self.call("dh_sym_copy", self.ir.void, &[arguments[0], arguments[1], n]);
        } else if is("memset") || is("memset.inline") {
            let n = length(self);
            let id = self.id_or_zero(arguments[1]);
            self.call(
                "dh_sym_fill",
                self.ir.void,
                &[arguments[0], id, self.wide(arguments[1]), n],
            );
        } else if is("expect") || is("expect.with.probability") {
            if let Some(id) = self.id(arguments[0]) {
                self.ids.insert(i, id);
            }
        } else if let Some(code) = minimum(base) {
            self.extreme(i, code, arguments);
        } else if is("bswap") || is("ctpop") || is("abs") || is("cttz") || is("ctlz") {
            self.unary(i, base, arguments[0]);
        } else if let Some((code, sign)) = overflow(base) {
            self.overflow(i, code, sign, arguments);
        } else if is("va_start") {
            // After the intrinsic has filled the list in.
            let next = llvm!(LLVMGetNextInstruction(i));
            self.position(next);
            if let Some(saved) = self.ids.get(&std::ptr::null_mut()).copied() {
                self.call("dh_sym_va_start", self.ir.void, &[arguments[0], saved]);
            }
        } else if is("va_copy") {
            // The list itself is concrete, and what it points to stays where it is.
        } else if ![
            "lifetime",
            "dbg",
            "assume",
            "va_end",
            "experimental",
            "stacksave",
            "stackrestore",
            "invariant",
            "threadlocal",
        ]
        .iter()
        .any(|ignored| base.starts_with(ignored))
        {
            arguments.iter().for_each(|a| self.lost(*a, i));
        }
    }

    fn extreme(&mut self, i: Value, predicate: LLVMIntPredicate, arguments: &[Value]) {
        let (a, b) = (arguments[0], arguments[1]);
        if self.width_of(a) == 0 {
            return;
        }
        let Some(smaller) = self.binary_id(i, super::arithmetic::test(predicate), a, b) else {
            return;
        };
        let condition = self.ir.compare(predicate, a, b);
        self.ids.insert(condition, smaller);
        if let Some(id) = self.chosen(i, condition, a, b) {
            self.ids.insert(i, id);
        }
    }

    fn unary(&mut self, i: Value, base: &str, value: Value) {
        let width = self.width_of(i);
        let (Some(id), true) = (self.id(value), width > 0) else {
            return;
        };
        let kind = match &base[..4] {
            "bswa" => 0,
            "ctpo" => 1,
            "abs." => 2,
            "cttz" => 3,
            _ => 4,
        };
        let some = self.any(&[id]);
        let made = self.guarded_id(some, i, || {
            self.call(
                "dh_sym_unary",
                self.ir.i32,
                &[self.c32(kind << 8 | width), id, self.wide(value)],
            )
        });
        self.ids.insert(i, made);
    }

    fn overflow(&mut self, i: Value, code: u8, sign: bool, arguments: &[Value]) {
        let (a, b) = (arguments[0], arguments[1]);
        let width = self.width_of(a);
        let known: Vec<Value> = [a, b].iter().filter_map(|v| self.id(*v)).collect();
        if width == 0 || known.is_empty() {
            return;
        }
        let Some(value) = self.binary_id(i, code, a, b) else {
            return;
        };
        let some = self.any(&known);
        let (x, y) = (self.id_or_zero(a), self.id_or_zero(b));
        let flag = self.guarded_id(some, i, || {
            let head = self.c32(u32::from(sign) << 16 | u32::from(code) << 8 | width);
            self.call(
                "dh_sym_overflow",
                self.ir.i32,
                &[head, x, self.wide(a), y, self.wide(b)],
            )
        });
        self.fields.insert(i, vec![Some(value), Some(flag)]);
    }
}

fn minimum(base: &str) -> Option<LLVMIntPredicate> {
    Some(match base.split('.').next()? {
        "umin" => LLVMIntPredicate::LLVMIntULT,
        "umax" => LLVMIntPredicate::LLVMIntUGT,
        "smin" => LLVMIntPredicate::LLVMIntSLT,
        "smax" => LLVMIntPredicate::LLVMIntSGT,
        _ => return None,
    })
}

/// Operation and signedness of an intrinsic that reports overflow.
fn overflow(base: &str) -> Option<(u8, bool)> {
    let (name, rest) = base.split_once('.')?;
    if !rest.starts_with("with.overflow") {
        return None;
    }
    let code = match name.get(1..)? {
        "add" => op::ADD,
        "sub" => op::SUB,
        "mul" => op::MUL,
        _ => return None,
    };
    Some((code, name.starts_with('s')))
}
