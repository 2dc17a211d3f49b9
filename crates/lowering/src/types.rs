//! Types: classes, struct layouts, and the walk of an address computation through them.

use crate::llvm::*;
use deadheat_ir::{Class, Field, ModuleBuilder, Signature, SignatureId, StructId, StructType, TagId};
use llvm_sys::prelude::LLVMModuleRef;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_void};

/// The types of the module that have been met.
pub struct Types {
    pub layout: LLVMTargetDataRef,
    structs: FxHashMap<Type, Option<StructId>>,
    by_name: FxHashMap<String, StructId>,
    /// Source names of members: (struct, size in bytes, offset in bytes) to name.
    members: FxHashMap<(String, u64), Vec<(u64, String)>>,
}

/// Where an address computation leads.
pub struct Walk {
    /// The constant part.
    pub constant: i64,
    /// The operand of each varying index, and its stride.
    pub indices: Vec<(Value, u64)>,
    /// The struct and byte offset of each field gone through.
    pub path: Vec<(Type, u64)>,
    /// The type arrived at.
    pub reached: Type,
}

extern "C" fn member(
    to: *mut c_void,
    ty: *const i8,
    ty_length: usize,
    bits: u64,
    name: *const i8,
    length: usize,
    at: u64,
) {
    // SAFETY: `to` is the map that `Types::new` hands over for the duration of the call that calls this.
    let members = unsafe { &mut *to.cast::<FxHashMap<(String, u64), Vec<(u64, String)>>>() };
    members
        .entry((text(ty, ty_length), bits / 8))
        .or_default()
        .push((at / 8, text(name, length)));
}

impl Types {
    pub fn new(module: LLVMModuleRef) -> Types {
        let mut members = FxHashMap::default();
        let to: *mut FxHashMap<(String, u64), Vec<(u64, String)>> = &mut members;
        llvm!(dh_members(module, member, to.cast()));
        Types {
            layout: llvm!(LLVMGetModuleDataLayout(module)),
            structs: FxHashMap::default(),
            by_name: FxHashMap::default(),
            members,
        }
    }

    /// Bytes from one element of an array to the next; 0 for what has no size.
    pub fn size(&self, ty: Type) -> u64 {
        if llvm!(LLVMTypeIsSized(ty)) == 0 {
            0
        } else {
            llvm!(LLVMABISizeOfType(self.layout, ty))
        }
    }

    /// Bytes that a load or store touches.
    pub fn store_size(&self, ty: Type) -> u64 {
        if llvm!(LLVMTypeIsSized(ty)) == 0 {
            0
        } else {
            llvm!(LLVMStoreSizeOfType(self.layout, ty))
        }
    }

    /// Offset of a struct's element.
    pub fn offset(&self, structure: Type, element: u32) -> u64 {
        llvm!(LLVMOffsetOfElement(self.layout, structure, element))
    }

    /// The id of a struct type; none if it has no name.
    pub fn structure(&mut self, builder: &mut ModuleBuilder, ty: Type) -> Option<StructId> {
        if let Some(known) = self.structs.get(&ty) {
            return *known;
        }
        let id = struct_name(ty).map(|full| {
            let name = source_name(&full).to_owned();
            let size = self.size(ty);
            let fields = if size > 0 {
                self.fields(builder, ty, &name, size)
            } else {
                Vec::new()
            };
            let name = builder.string(&name);
            let id = builder.structure(StructType {
                name,
                size,
                fields: fields.into(),
            });
            self.by_name.insert(full, id);
            id
        });
        self.structs.insert(ty, id);
        id
    }

    fn fields(&mut self, builder: &mut ModuleBuilder, ty: Type, name: &str, size: u64) -> Vec<Field> {
        let names = self.members.get(&(name.to_owned(), size)).cloned().unwrap_or_default();
        let field = |n| {
            let inner = llvm!(LLVMStructGetTypeAtIndex(ty, n));
            let offset = self.offset(ty, n);
            let name = names
                .iter()
                .find(|(at, _)| *at == offset)
                .map(|(_, name)| builder.string(name));
            let nested = self.structure_in(builder, inner);
            Field {
                offset,
                size: self.size(inner),
                class: class(inner),
                nested,
                name,
            }
        };
        (0..llvm!(LLVMCountStructElementTypes(ty))).map(field).collect()
    }

    /// The named struct that a type is, or is an array of.
    pub fn structure_in(&mut self, builder: &mut ModuleBuilder, mut ty: Type) -> Option<StructId> {
        while llvm!(LLVMGetTypeKind(ty)) == LLVMTypeKind::LLVMArrayTypeKind {
            ty = llvm!(LLVMGetElementType(ty));
        }
        let is_struct = llvm!(LLVMGetTypeKind(ty)) == LLVMTypeKind::LLVMStructTypeKind;
        if is_struct { self.structure(builder, ty) } else { None }
    }

    /// The tag of a struct's field. Where a named struct begins there, the tag is that of its own first field, and so
    /// on: `outer.inner` and `inner.first` at one place have one tag.
    pub fn tag(&mut self, builder: &mut ModuleBuilder, structure: StructId, offset: u64) -> TagId {
        let (mut structure, mut offset) = (structure, offset);
        // Nesting is finite: a struct is in itself in no layout.
        while let Some((inner, start)) = nested_at(builder, structure, offset) {
            (structure, offset) = (inner, offset - start);
        }
        builder.tag(structure, offset)
    }

    /// The tag of the first field of the struct that LLVM names so.
    pub fn first_field_tag(&mut self, builder: &mut ModuleBuilder, full: &str) -> Option<TagId> {
        let structure = *self.by_name.get(full)?;
        Some(self.tag(builder, structure, 0))
    }

    pub fn signature(&mut self, builder: &mut ModuleBuilder, ty: Type) -> SignatureId {
        let mut parameters = vec![std::ptr::null_mut(); llvm!(LLVMCountParamTypes(ty)) as usize];
        llvm!(LLVMGetParamTypes(ty, parameters.as_mut_ptr()));
        builder.signature(Signature {
            result: class(llvm!(LLVMGetReturnType(ty))),
            parameters: parameters.into_iter().map(class).collect(),
            variadic: llvm!(LLVMIsFunctionVarArg(ty)) != 0,
        })
    }

    /// Follows a `getelementptr`, instruction or constant.
    pub fn walk(&self, gep: Value) -> Walk {
        let mut ty = llvm!(LLVMGetGEPSourceElementType(gep));
        let mut walk = Walk {
            constant: 0,
            indices: Vec::new(),
            path: Vec::new(),
            reached: ty,
        };
        for (n, index) in operands(gep).skip(1).enumerate() {
            if n > 0 && llvm!(LLVMGetTypeKind(ty)) == LLVMTypeKind::LLVMStructTypeKind {
                let element = integer(index).unwrap_or(0) as u32;
                let offset = self.offset(ty, element);
                walk.constant = walk.constant.wrapping_add_unsigned(offset);
                walk.path.push((ty, offset));
                ty = llvm!(LLVMStructGetTypeAtIndex(ty, element));
                continue;
            }
            if n > 0 {
                ty = llvm!(LLVMGetElementType(ty));
            }
            let stride = self.size(ty);
            match integer(index) {
                Some(index) => walk.constant = walk.constant.wrapping_add(index.wrapping_mul(stride as i64)),
                None => walk.indices.push((index, stride)),
            }
        }
        walk.reached = ty;
        walk
    }

    /// Offset in bytes of a member of an aggregate, by its indices.
    pub fn member(&self, mut ty: Type, indices: &[u32]) -> u64 {
        let mut offset = 0u64;
        for &index in indices {
            if llvm!(LLVMGetTypeKind(ty)) == LLVMTypeKind::LLVMStructTypeKind {
                offset += self.offset(ty, index);
                ty = llvm!(LLVMStructGetTypeAtIndex(ty, index));
            } else {
                ty = llvm!(LLVMGetElementType(ty));
                offset += u64::from(index) * self.size(ty);
            }
        }
        offset
    }
}

/// The named struct that begins, as a field of `structure`, at this offset.
fn nested_at(builder: &ModuleBuilder, structure: StructId, offset: u64) -> Option<(StructId, u64)> {
    let holds = |field: &&Field| field.offset == offset && field.size > 0;
    let field = builder.module[structure].fields.iter().find(holds)?;
    let inner = field.nested?;
    // An array's later elements begin elsewhere; its first one begins here.
    (builder.module[inner].size > 0).then_some((inner, field.offset))
}

/// What kind of value a type is of.
pub fn class(ty: Type) -> Class {
    use LLVMTypeKind::*;
    match llvm!(LLVMGetTypeKind(ty)) {
        LLVMVoidTypeKind | LLVMLabelTypeKind | LLVMMetadataTypeKind | LLVMTokenTypeKind => Class::Void,
        LLVMIntegerTypeKind => Class::Integer(llvm!(LLVMGetIntTypeWidth(ty)).try_into().unwrap_or(u16::MAX)),
        LLVMPointerTypeKind => Class::Pointer,
        LLVMHalfTypeKind | LLVMBFloatTypeKind => Class::Float(16),
        LLVMFloatTypeKind => Class::Float(32),
        LLVMDoubleTypeKind => Class::Float(64),
        LLVMX86_FP80TypeKind => Class::Float(80),
        LLVMFP128TypeKind | LLVMPPC_FP128TypeKind => Class::Float(128),
        LLVMVectorTypeKind | LLVMScalableVectorTypeKind => Class::Vector {
            pointers: holds_pointers(ty),
        },
        _ => Class::Aggregate {
            pointers: holds_pointers(ty),
        },
    }
}

fn holds_pointers(ty: Type) -> bool {
    use LLVMTypeKind::*;
    match llvm!(LLVMGetTypeKind(ty)) {
        LLVMPointerTypeKind => true,
        LLVMVectorTypeKind | LLVMScalableVectorTypeKind | LLVMArrayTypeKind => {
            holds_pointers(llvm!(LLVMGetElementType(ty)))
        }
        LLVMStructTypeKind => {
            (0..llvm!(LLVMCountStructElementTypes(ty))).any(|n| holds_pointers(llvm!(LLVMStructGetTypeAtIndex(ty, n))))
        }
        _ => false,
    }
}

/// The name of a struct type, as LLVM has it.
pub fn struct_name(ty: Type) -> Option<String> {
    let start = llvm!(LLVMGetStructName(ty));
    // SAFETY: a terminated string that lives as long as the context, or null.
    (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned())
}

/// The name in the source: without kind, and without the number that tells types of one name apart.
fn source_name(full: &str) -> &str {
    let name = ["struct.", "class.", "union."]
        .iter()
        .find_map(|kind| full.strip_prefix(kind))
        .unwrap_or(full);
    match name.rsplit_once('.') {
        Some((plain, number)) if !plain.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => name,
    }
}

/// The innermost struct whose first field this address computation that moves by nothing names.
pub fn first_field(address: Value) -> Option<String> {
    let is_constant =
        is(address, LLVMIsAConstantExpr) && llvm!(LLVMGetConstOpcode(address)) == LLVMOpcode::LLVMGetElementPtr;
    if !is(address, LLVMIsAGetElementPtrInst) && !is_constant {
        return None;
    }
    if !operands(address).skip(1).all(|index| integer(index) == Some(0)) {
        return None;
    }
    let mut ty = llvm!(LLVMGetGEPSourceElementType(address));
    let mut innermost = None;
    for _ in operands(address).skip(2) {
        if llvm!(LLVMGetTypeKind(ty)) == LLVMTypeKind::LLVMStructTypeKind {
            innermost = struct_name(ty).or(innermost);
            ty = llvm!(LLVMStructGetTypeAtIndex(ty, 0));
        } else {
            ty = llvm!(LLVMGetElementType(ty));
        }
    }
    innermost
}
