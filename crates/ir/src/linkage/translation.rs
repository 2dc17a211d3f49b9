//! Translates a module's tables into the program's.

use super::symbols::Resolution;
use crate::constant::{Constant, Value};
use crate::function::Function;
use crate::ids::{ConstantId, LocationId, SignatureId, StringId, StructId, SymbolId, TagId};
use crate::instruction::{Access, AssemblyOperand, Callee, Operation, Terminator};
use crate::module::{Module, ModuleBuilder};
use crate::symbol::{Linkage, Symbol, SymbolKind};
use crate::types::{Field, StructType};

/// What a module's ids become.
struct Translation {
    strings: Vec<StringId>,
    structs: Vec<Option<StructId>>,
    tags: Vec<TagId>,
    signatures: Vec<SignatureId>,
    constants: Vec<ConstantId>,
    locations: Vec<LocationId>,
    first_unit: u32,
    number: usize,
}

/// What a direct call calls, aliases followed.
fn called(builder: &mut ModuleBuilder, resolution: &Resolution, number: usize, symbol: SymbolId) -> Callee {
    match resolution.meant[resolution.ids[number][symbol.index()].index()] {
        (symbol, 0) => Callee::Direct(symbol),
        (symbol, offset) => {
            let address = Constant::Address {
                symbol,
                offset,
                tag: None,
            };
            Callee::Indirect(Value::Constant(builder.constant(address)))
        }
    }
}

/// Adds module `number` to the program.
pub(super) fn add(builder: &mut ModuleBuilder, resolution: &Resolution, number: usize, mut module: Module) {
    let mut to = Translation {
        strings: module.strings.iter().map(|text| builder.string(text)).collect(),
        structs: vec![None; module.structs.len()],
        tags: Vec::new(),
        signatures: module
            .signatures
            .iter()
            .map(|signature| builder.signature(signature.clone()))
            .collect(),
        constants: Vec::new(),
        locations: Vec::new(),
        first_unit: builder.module.units.len() as u32,
        number,
    };
    to.fill(builder, resolution, number, &module);
    builder.module.units.append(&mut module.units);
    let functions = std::mem::take(&mut module.functions);
    for (n, symbol) in std::mem::take(&mut module.symbols).into_iter().enumerate() {
        let id = resolution.ids[number][n];
        reserve(builder, resolution);
        if resolution.chosen[id.index()] == (number, n) {
            builder.module.symbols[id.index()] = to.symbol(symbol, resolution, number, id);
        }
    }
    for function in functions {
        let id = resolution.ids[number][function.symbol.index()];
        if resolution.chosen[id.index()] == (number, function.symbol.index()) {
            let function = to.function(builder, resolution, function, id);
            builder.function(function);
        }
    }
}

/// Makes room for all symbols at once; each is written when its module comes.
fn reserve(builder: &mut ModuleBuilder, resolution: &Resolution) {
    if builder.module.symbols.is_empty() {
        let empty = builder.string("");
        let unknown = Symbol {
            name: empty,
            linkage: Linkage::External,
            kind: SymbolKind::Alias { target: None },
            section: None,
            location: None,
            address_taken: false,
        };
        builder.module.symbols = vec![unknown; resolution.chosen.len()];
    }
}

impl Translation {
    fn string(&self, id: StringId) -> StringId {
        self.strings[id.index()]
    }

    fn fill(&mut self, builder: &mut ModuleBuilder, resolution: &Resolution, number: usize, module: &Module) {
        for n in 0..module.structs.len() {
            self.structure(builder, module, StructId::new(n as u32));
        }
        for tag in &module.tags {
            let structure = self.structs[tag.structure.index()];
            // Every row of the table above is translated.
            self.tags
                .extend(structure.map(|structure| builder.tag(structure, tag.offset)));
        }
        for location in &module.locations {
            let mut location = *location;
            location.file = self.string(location.file);
            location.function = self.string(location.function);
            location.inlined_at = location
                .inlined_at
                .and_then(|id| self.locations.get(id.index()))
                .copied();
            self.locations.push(builder.location(location));
        }
        for constant in &module.constants {
            let constant = match constant {
                Constant::Address { symbol, offset, tag } => {
                    let (symbol, moved) = resolution.meant[resolution.ids[number][symbol.index()].index()];
                    let tag = tag.map(|tag| self.tags[tag.index()]);
                    Constant::Address {
                        symbol,
                        offset: offset.wrapping_add(moved),
                        tag,
                    }
                }
                Constant::Aggregate(members) => {
                    let member = |(offset, id): &(u64, ConstantId)| Some((*offset, *self.constants.get(id.index())?));
                    Constant::Aggregate(members.iter().filter_map(member).collect())
                }
                other => other.clone(),
            };
            self.constants.push(builder.constant(constant));
        }
    }

    /// Structs nest, in any order of their rows.
    fn structure(&mut self, builder: &mut ModuleBuilder, module: &Module, id: StructId) -> Option<StructId> {
        if self.structs[id.index()].is_some() {
            return self.structs[id.index()];
        }
        let StructType { name, size, ref fields } = module[id];
        let field = |field: &Field| Field {
            // A struct is smaller than the one that holds it: a circle would need equal sizes.
            nested: field
                .nested
                .filter(|inner| module[*inner].size < size || inner.index() < id.index())
                .and_then(|inner| self.structure(builder, module, inner)),
            name: field.name.map(|name| self.string(name)),
            ..*field
        };
        let fields = fields.iter().map(field).collect();
        let new = builder.structure(StructType {
            name: self.string(name),
            size,
            fields,
        });
        self.structs[id.index()] = Some(new);
        Some(new)
    }

    fn location(&self, id: Option<LocationId>) -> Option<LocationId> {
        id.map(|id| self.locations[id.index()])
    }

    fn structure_id(&self, id: Option<StructId>) -> Option<StructId> {
        id.and_then(|id| self.structs[id.index()])
    }

    fn symbol(&self, symbol: Symbol, resolution: &Resolution, number: usize, id: SymbolId) -> Symbol {
        let linked = |symbol: SymbolId| resolution.ids[number][symbol.index()];
        let kind = match symbol.kind {
            SymbolKind::Function {
                signature, attributes, ..
            } => SymbolKind::Function {
                signature: self.signatures[signature.index()],
                attributes,
                body: None,
            },
            SymbolKind::Variable {
                structure,
                constant,
                thread_local,
                defined,
                mut initialisers,
                ..
            } => {
                for item in &mut initialisers {
                    item.value = self.constants[item.value.index()];
                    item.tag = item.tag.map(|tag| self.tags[tag.index()]);
                }
                let structure = self.structure_id(structure);
                let size = resolution.size[id.index()];
                SymbolKind::Variable {
                    size,
                    structure,
                    constant,
                    thread_local,
                    defined,
                    initialisers,
                }
            }
            SymbolKind::Alias { .. } => SymbolKind::Alias {
                target: Some(resolution.meant[id.index()]).filter(|(meant, _)| *meant != id),
            },
            SymbolKind::IFunc { resolver } => SymbolKind::IFunc {
                resolver: resolver.map(|resolver| resolution.meant[linked(resolver).index()].0),
            },
        };
        Symbol {
            name: self.string(symbol.name),
            linkage: symbol.linkage,
            kind,
            section: symbol.section.map(|section| self.string(section)),
            location: self.location(symbol.location),
            address_taken: resolution.address_taken[id.index()],
        }
    }

    fn function(
        &self,
        builder: &mut ModuleBuilder,
        resolution: &Resolution,
        mut function: Function,
        id: SymbolId,
    ) -> Function {
        function.symbol = id;
        function.unit += self.first_unit;
        function.location = self.location(function.location);
        for instruction in &mut function.instructions {
            instruction.location = self.location(instruction.location);
            self.operation(builder, resolution, &mut instruction.operation);
        }
        for block in &mut function.blocks {
            block.location = self.location(block.location);
            match &mut block.terminator {
                Terminator::Return(Some(value)) => self.value(value),
                Terminator::Branch { condition, .. } => self.value(condition),
                Terminator::Switch { value: Some(value), .. } => self.value(value),
                _ => {}
            }
        }
        function
    }

    fn value(&self, value: &mut Value) {
        if let Value::Constant(id) = value {
            *id = self.constants[id.index()];
        }
    }

    fn values(&self, values: &mut [Value]) {
        values.iter_mut().for_each(|value| self.value(value));
    }

    fn access(&self, access: &mut Access) {
        access.tag = access.tag.map(|tag| self.tags[tag.index()]);
    }

    fn operation(&self, builder: &mut ModuleBuilder, resolution: &Resolution, operation: &mut Operation) {
        match operation {
            Operation::Alloca { count, structure, .. } => {
                *structure = self.structure_id(*structure);
                count.as_mut().into_iter().for_each(|count| self.value(count));
            }
            Operation::Load { address, access } => {
                self.value(address);
                self.access(access);
            }
            Operation::Store { address, value, access }
            | Operation::ReadModifyWrite {
                address, value, access, ..
            } => {
                self.value(address);
                self.value(value);
                self.access(access);
            }
            Operation::CompareExchange {
                address,
                expected,
                new,
                access,
                ..
            } => {
                [address, expected, new].into_iter().for_each(|value| self.value(value));
                self.access(access);
            }
            Operation::Offset {
                base, indices, path, ..
            } => {
                self.value(base);
                indices.iter_mut().for_each(|(index, _)| self.value(index));
                path.iter_mut().for_each(|tag| *tag = self.tags[tag.index()]);
            }
            Operation::Call {
                callee,
                arguments,
                signature,
            } => {
                *signature = self.signatures[signature.index()];
                self.values(arguments);
                match callee {
                    Callee::Direct(symbol) => *callee = called(builder, resolution, self.number, *symbol),
                    Callee::Indirect(value) => self.value(value),
                }
            }
            Operation::Assembly { text, operands, .. } => {
                *text = self.string(*text);
                operands
                    .iter_mut()
                    .for_each(|AssemblyOperand { value, .. }| self.value(value));
            }
            Operation::Phi { incoming } => incoming.iter_mut().for_each(|(_, value)| self.value(value)),
            Operation::Select { condition, yes, no } => {
                [condition, yes, no].into_iter().for_each(|value| self.value(value));
            }
            Operation::Binary { left, right, .. } | Operation::Compare { left, right, .. } => {
                [left, right].into_iter().for_each(|value| self.value(value));
            }
            Operation::Cast { value, .. } | Operation::VariableArgument { list: value } => self.value(value),
            Operation::Extract { from, .. } => self.value(from),
            Operation::Insert { into, value, .. } => [into, value].into_iter().for_each(|value| self.value(value)),
            Operation::MemoryCopy { to, from, length, .. } => {
                [to, from, length].into_iter().for_each(|value| self.value(value));
            }
            Operation::MemoryFill { to, byte, length } => {
                [to, byte, length].into_iter().for_each(|value| self.value(value));
            }
            Operation::Mix { operands } => self.values(operands),
            Operation::Fence { .. } | Operation::LandingPad => {}
        }
    }
}
