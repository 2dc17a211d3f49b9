//! One module: parsed, prepared, lowered, dropped.

use crate::function::lower_function;
use crate::llvm::*;
use crate::types::{self, Types};
use crate::{initialisers, preparation};
use deadheat_ir::{
    Attributes, ConstantId, Linkage, LocationId, Module, ModuleBuilder, Provenance, StringId, Symbol, SymbolId,
    SymbolKind,
};
use deadheat_wire::lowering::{Request, Settings};
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::prelude::{LLVMDiagnosticInfoRef, LLVMModuleRef};
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_void};

/// A module being lowered.
pub struct Lowering {
    pub module: LLVMModuleRef,
    pub builder: ModuleBuilder,
    pub types: Types,
    pub symbols: FxHashMap<Value, SymbolId>,
    pub constants: FxHashMap<Value, ConstantId>,
    pub scopes: FxHashMap<Metadata, (StringId, StringId)>,
    pub locations: FxHashMap<Metadata, Option<LocationId>>,
}

/// What LLVM says while it reads.
#[derive(Default)]
struct Said {
    errors: Vec<String>,
    warnings: Vec<String>,
}

extern "C" fn listen(diagnostic: LLVMDiagnosticInfoRef, to: *mut c_void) {
    // SAFETY: `to` is the `Said` that `lower` registered with the context, which outlives it.
    let said = unsafe { &mut *to.cast::<Said>() };
    let message = llvm!({
        let start = LLVMGetDiagInfoDescription(diagnostic);
        let text = CStr::from_ptr(start).to_string_lossy().into_owned();
        LLVMDisposeMessage(start);
        text
    });
    match llvm!(LLVMGetDiagInfoSeverity(diagnostic)) {
        LLVMDiagnosticSeverity::LLVMDSError => said.errors.push(message),
        LLVMDiagnosticSeverity::LLVMDSWarning => said.warnings.push(message),
        _ => {}
    }
}

/// The first bytes of plain bitcode, of bitcode in a wrapper, and of a zstd frame.
const BITCODE: [u8; 4] = *b"BC\xc0\xde";
const WRAPPER: [u8; 4] = [0xde, 0xc0, 0x17, 0x0b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

fn bitcode(request: &Request) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let bytes = &request.bitcode;
    let mut out = Vec::new();
    if bytes.starts_with(&ZSTD) {
        let mut decoder =
            ruzstd::decoding::StreamingDecoder::new(&bytes[..]).map_err(|e| format!("damaged zstd frame: {e}"))?;
        decoder
            .read_to_end(&mut out)
            .map_err(|e| format!("damaged zstd frame: {e}"))?;
    } else {
        out.clone_from(bytes);
    }
    if out.starts_with(&BITCODE) || out.starts_with(&WRAPPER) {
        Ok(out)
    } else {
        Err("not LLVM bitcode".to_owned())
    }
}

/// Lowers a module, or says why not.
pub fn lower(request: &Request, settings: &Settings) -> Result<Module, String> {
    let bytes = bitcode(request)?;
    let mut said = Said::default();
    let to: *mut Said = &mut said;
    llvm!({
        let context = LLVMContextCreate();
        // Without a handler, an error ends the process.
        LLVMContextSetDiagnosticHandler(context, Some(listen), to.cast());
        let start = bytes.as_ptr().cast();
        let buffer = LLVMCreateMemoryBufferWithMemoryRange(start, bytes.len(), c"module".as_ptr(), 0);
        let mut module = std::ptr::null_mut();
        let failed = LLVMParseBitcodeInContext2(context, buffer, &mut module) != 0;
        let lowered = if failed || module.is_null() {
            None
        } else {
            Some(lowered(module, request, settings))
        };
        if !module.is_null() {
            LLVMDisposeModule(module);
        }
        LLVMDisposeMemoryBuffer(buffer);
        LLVMContextDispose(context);
        let Some(mut lowered) = lowered else {
            let reasons = (*to).errors.join("; ");
            return Err(if reasons.is_empty() {
                "LLVM cannot read it".to_owned()
            } else {
                reasons
            });
        };
        if let Some(unit) = lowered.units.first_mut() {
            unit.notes.append(&mut (*to).warnings);
            unit.notes.append(&mut (*to).errors);
        }
        Ok(lowered)
    })
}

fn lowered(module: LLVMModuleRef, request: &Request, settings: &Settings) -> Module {
    let mut notes = Vec::new();
    notes.extend(preparation::prepare(module, settings).map(|said| format!("not simplified: {said}")));
    let mut assembly = 0;
    llvm!(LLVMGetModuleInlineAsm(module, &mut assembly));
    if assembly > 0 {
        notes.push("assembly outside functions is not analysed".to_owned());
    }
    let mut source = 0;
    let start = llvm!(LLVMGetSourceFileName(module, &mut source));
    let source = text(start, source);
    let mut lowering = Lowering {
        module,
        builder: ModuleBuilder::default(),
        types: Types::new(module),
        symbols: FxHashMap::default(),
        constants: FxHashMap::default(),
        scopes: FxHashMap::default(),
        locations: FxHashMap::default(),
    };
    lowering.declare();
    initialisers::lower(&mut lowering);
    let mut located = false;
    for function in functions(module).filter(|function| llvm!(LLVMIsDeclaration(*function)) == 0) {
        located |= !llvm!(llvm_sys::debuginfo::LLVMGetSubprogram(function)).is_null();
        let body = lower_function(&mut lowering, function);
        lowering.builder.function(body);
    }
    if !located && !lowering.builder.module.functions.is_empty() {
        notes.push("no debug information: no source lines".to_owned());
    }
    let mut module = lowering.builder.module;
    module.units.push(Provenance {
        source,
        origin: request.origin.clone(),
        notes,
    });
    module
}

impl Lowering {
    /// Gives every symbol of the module its row.
    fn declare(&mut self) {
        for variable in variables(self.module) {
            let ty = llvm!(LLVMGlobalGetValueType(variable));
            let structure = self.types.structure_in(&mut self.builder, ty);
            let kind = SymbolKind::Variable {
                size: self.types.size(ty),
                structure,
                constant: llvm!(LLVMIsGlobalConstant(variable)) != 0,
                thread_local: llvm!(LLVMIsThreadLocal(variable)) != 0,
                defined: llvm!(LLVMIsDeclaration(variable)) == 0,
                initialisers: Box::default(),
            };
            let location = self.variable_location(variable);
            self.symbol(variable, kind, location);
        }
        for function in functions(self.module) {
            let signature = self
                .types
                .signature(&mut self.builder, llvm!(LLVMGlobalGetValueType(function)));
            let attributes = attributes(function);
            let location = self.function_location(function);
            self.symbol(
                function,
                SymbolKind::Function {
                    signature,
                    attributes,
                    body: None,
                },
                location,
            );
        }
        for alias in aliases(self.module) {
            self.symbol(alias, SymbolKind::Alias { target: None }, None);
        }
        for ifunc in ifuncs(self.module) {
            self.symbol(ifunc, SymbolKind::IFunc { resolver: None }, None);
        }
    }

    fn symbol(&mut self, value: Value, kind: SymbolKind, location: Option<LocationId>) {
        let section = llvm!(LLVMGetSection(value));
        // SAFETY: a terminated string that lives as long as the module, or null.
        let section = (!section.is_null()).then(|| unsafe { CStr::from_ptr(section) }.to_string_lossy());
        let symbol = Symbol {
            name: self.builder.string(&name(value)),
            linkage: linkage(value),
            kind,
            section: section.filter(|s| !s.is_empty()).map(|s| self.builder.string(&s)),
            location,
            address_taken: false,
        };
        let id = self.builder.symbol(symbol);
        self.symbols.insert(value, id);
    }
}

fn linkage(value: Value) -> Linkage {
    use LLVMLinkage::*;
    match llvm!(LLVMGetLinkage(value)) {
        LLVMInternalLinkage
        | LLVMPrivateLinkage
        | LLVMLinkerPrivateLinkage
        | LLVMLinkerPrivateWeakLinkage
        | LLVMAppendingLinkage => Linkage::Internal,
        LLVMExternalLinkage => Linkage::External,
        // A body that is there to be inlined is as good as the one elsewhere, and gives way to it.
        _ => Linkage::Weak,
    }
}

fn attributes(function: Value) -> Attributes {
    let at = |index, name| {
        let attribute = llvm!(LLVMGetEnumAttributeAtIndex(
            function,
            index,
            preparation::attribute(name)
        ));
        (!attribute.is_null()).then_some(attribute)
    };
    let on_function = |name| at(LLVMAttributeFunctionIndex, name);
    // Two bits for each kind of memory: read, then written.
    const WRITTEN: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let memory = on_function("memory").map(|attribute| llvm!(LLVMGetEnumAttributeValue(attribute)));
    Attributes {
        no_return: on_function("noreturn").is_some(),
        read_only: memory.is_some_and(|memory| memory & WRITTEN == 0),
        no_memory: memory == Some(0),
        fresh_result: at(LLVMAttributeReturnIndex, "noalias").is_some(),
        returns_twice: on_function("returns_twice").is_some(),
        ..Attributes::default()
    }
}

/// The class of a value.
pub fn class_of(value: Value) -> deadheat_ir::Class {
    types::class(llvm!(LLVMTypeOf(value)))
}
