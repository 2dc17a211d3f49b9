//! Initial values of variables; targets of aliases and ifuncs; constructors and destructors.

use crate::llvm::*;
use crate::module::Lowering;
use deadheat_ir::{Constant, Initialiser, SymbolKind};

/// Integers kept of one variable at most; addresses are all kept.
const INTEGERS: usize = 64;

/// Reads the initial values of all variables, and what aliases and ifuncs stand for.
pub fn lower(lowering: &mut Lowering) {
    for variable in variables(lowering.module) {
        let initial = llvm!(LLVMGetInitializer(variable));
        if initial.is_null() {
            continue;
        }
        match name(variable).as_str() {
            "llvm.global_ctors" => mark(lowering, initial, true),
            "llvm.global_dtors" => mark(lowering, initial, false),
            name if name.starts_with("llvm.") => {}
            _ => {
                let mut items = Items {
                    list: Vec::new(),
                    integers: 0,
                };
                items.collect(lowering, initial, 0, None);
                let id = lowering.symbols[&variable];
                if let SymbolKind::Variable { initialisers, .. } = &mut lowering.builder.module.symbols[id.index()].kind
                {
                    *initialisers = items.list.into();
                }
            }
        }
    }
    for alias in aliases(lowering.module) {
        let constant = lowering.constant(llvm!(LLVMAliasGetAliasee(alias)));
        if let Constant::Address { symbol, offset, .. } = lowering.builder.module[constant] {
            let target = Some((symbol, offset));
            become_kind(lowering, alias, SymbolKind::Alias { target });
        }
    }
    for ifunc in ifuncs(lowering.module) {
        let resolver = lowering.plain_symbol(llvm!(LLVMGetGlobalIFuncResolver(ifunc)));
        become_kind(lowering, ifunc, SymbolKind::IFunc { resolver });
    }
}

fn become_kind(lowering: &mut Lowering, value: Value, kind: SymbolKind) {
    let id = lowering.symbols[&value];
    lowering.builder.module.symbols[id.index()].kind = kind;
}

/// Marks the functions of `llvm.global_ctors` or `llvm.global_dtors`: an array of (priority, function, data).
fn mark(lowering: &mut Lowering, list: Value, first: bool) {
    for entry in operands(list).filter(|entry| is(*entry, LLVMIsAConstantStruct)) {
        let Some(symbol) = lowering.plain_symbol(operand(entry, 1)) else {
            continue;
        };
        if let SymbolKind::Function { attributes, .. } = &mut lowering.builder.module.symbols[symbol.index()].kind {
            *(if first {
                &mut attributes.constructor
            } else {
                &mut attributes.destructor
            }) = true;
        }
    }
}

struct Items {
    list: Vec<Initialiser>,
    integers: usize,
}

impl Items {
    /// Adds what stands at `offset`; `field` is the innermost named struct's field that it is in.
    fn collect(&mut self, lowering: &mut Lowering, value: Value, offset: u64, field: Option<(Type, u64)>) {
        if lowering.is_aggregate(value) {
            let ty = llvm!(LLVMTypeOf(value));
            let named = llvm!(LLVMGetTypeKind(ty)) == LLVMTypeKind::LLVMStructTypeKind
                && crate::types::struct_name(ty).is_some();
            for (n, member) in operands(value).enumerate() {
                let at = lowering.types.member(ty, &[n as u32]);
                let field = if named { Some((ty, at)) } else { field };
                self.collect(lowering, member, offset + at, field);
            }
            return;
        }
        let constant = lowering.constant(value);
        match lowering.builder.module[constant] {
            Constant::Address { .. } => lowering.take_address(constant),
            Constant::Integer { value, .. } if value != 0 && self.integers < INTEGERS => self.integers += 1,
            _ => return,
        }
        let tag = field.and_then(|(ty, at)| lowering.field_tag(ty, at));
        self.list.push(Initialiser {
            offset,
            value: constant,
            tag,
        });
    }
}
