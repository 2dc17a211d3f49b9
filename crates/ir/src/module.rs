//! A module: flat tables, and the builder that keeps their rows unique.

use crate::constant::{Constant, Value};
use crate::function::Function;
use crate::ids::{ConstantId, FunctionId, LocationId, SignatureId, StringId, StructId, SymbolId, TagId};
use crate::location::Location;
use crate::symbol::{Symbol, SymbolKind};
use crate::types::{Signature, StructType, Tag};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::hash::Hash;
use std::ops::Index;

/// A compilation unit, or the units of a program joined by [`Program::link`](crate::Program::link).
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Module {
    /// Where it comes from; after linking, one for each unit.
    pub units: Vec<Provenance>,
    /// Strings.
    pub strings: Vec<Box<str>>,
    /// Named structs.
    pub structs: Vec<StructType>,
    /// Fields of structs that instructions and initialisers name.
    pub tags: Vec<Tag>,
    /// Function types.
    pub signatures: Vec<Signature>,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Functions, variables, aliases, ifuncs.
    pub symbols: Vec<Symbol>,
    /// Source locations.
    pub locations: Vec<Location>,
    /// Bodies.
    pub functions: Vec<Function>,
}

/// Where a compilation unit comes from.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// Its source file, as the compiler was given it.
    pub source: String,
    /// The file that it was read from: `program`, `libx.a(member.o)`, and its number there if there are several.
    pub origin: String,
    /// What its bitcode told of itself that analysis lacks (no debug information, assembly of its own).
    pub notes: Vec<String>,
}

macro_rules! rows {
    ($($id:ident, $table:ident, $row:ty;)*) => {$(
        impl Index<$id> for Module {
            type Output = $row;

            fn index(&self, id: $id) -> &$row {
                &self.$table[id.index()]
            }
        }
    )*};
}

rows! {
    StructId, structs, StructType;
    TagId, tags, Tag;
    SignatureId, signatures, Signature;
    ConstantId, constants, Constant;
    SymbolId, symbols, Symbol;
    LocationId, locations, Location;
    FunctionId, functions, Function;
}

impl Index<StringId> for Module {
    type Output = str;

    fn index(&self, id: StringId) -> &str {
        &self.strings[id.index()]
    }
}

impl Module {
    /// The name of a symbol.
    pub fn name(&self, symbol: SymbolId) -> &str {
        &self[self[symbol].name]
    }

    /// The name of a function.
    pub fn function_name(&self, function: FunctionId) -> &str {
        self.name(self[function].symbol)
    }

    /// The constant behind an operand, if it is one.
    pub fn constant(&self, value: Value) -> Option<&Constant> {
        match value {
            Value::Constant(id) => Some(&self[id]),
            Value::Local(_) => None,
        }
    }

    /// The integer behind an operand, if it is a constant one (null counts as 0).
    pub fn integer(&self, value: Value) -> Option<i64> {
        match self.constant(value)? {
            Constant::Integer { value, .. } => Some(*value),
            Constant::Null => Some(0),
            _ => None,
        }
    }

    /// The functions with their ids.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions
            .iter()
            .enumerate()
            .map(|(n, function)| (FunctionId::new(n as u32), function))
    }

    /// The symbols with their ids.
    pub fn symbols(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.symbols
            .iter()
            .enumerate()
            .map(|(n, symbol)| (SymbolId::new(n as u32), symbol))
    }

    /// The first symbol of this name. Takes time in the number of symbols: programs have
    /// [`Program::symbol`](crate::Program::symbol).
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.symbols()
            .find(|(_, symbol)| &self[symbol.name] == name)
            .map(|(id, _)| id)
    }

    /// `conn.state`, or `conn+8` where the field's name is not known.
    pub fn describe_tag(&self, tag: TagId) -> String {
        let Tag { structure, offset } = self[tag];
        let structure = &self[structure];
        let field = structure.fields.iter().find(|field| field.offset == offset);
        match field.and_then(|field| field.name) {
            Some(name) => format!("{}.{}", &self[structure.name], &self[name]),
            None => format!("{}+{offset}", &self[structure.name]),
        }
    }
}

/// A table whose rows are unique.
#[derive(Clone, Debug)]
struct Unique<T>(FxHashMap<T, u32>);

impl<T> Default for Unique<T> {
    fn default() -> Self {
        Unique(FxHashMap::default())
    }
}

impl<T: Hash + Eq + Clone> Unique<T> {
    fn number(&mut self, row: T, rows: &mut Vec<T>) -> u32 {
        *self.0.entry(row).or_insert_with_key(|row| {
            rows.push(row.clone());
            rows.len() as u32 - 1
        })
    }
}

/// Builds a module whose strings, structs, tags, signatures, constants and locations are unique.
#[derive(Clone, Debug, Default)]
pub struct ModuleBuilder {
    /// What is built. Symbols and functions are added directly.
    pub module: Module,
    strings: Unique<Box<str>>,
    structs: Unique<StructType>,
    tags: Unique<Tag>,
    signatures: Unique<Signature>,
    constants: Unique<Constant>,
    locations: Unique<Location>,
}

impl ModuleBuilder {
    /// The id of a string.
    pub fn string(&mut self, text: &str) -> StringId {
        // Most strings are known: no allocation for those.
        match self.strings.0.get(text) {
            Some(&number) => StringId::new(number),
            None => StringId::new(self.strings.number(text.into(), &mut self.module.strings)),
        }
    }

    /// The id of a struct.
    pub fn structure(&mut self, structure: StructType) -> StructId {
        StructId::new(self.structs.number(structure, &mut self.module.structs))
    }

    /// The id of a field.
    pub fn tag(&mut self, structure: StructId, offset: u64) -> TagId {
        TagId::new(self.tags.number(Tag { structure, offset }, &mut self.module.tags))
    }

    /// The id of a function type.
    pub fn signature(&mut self, signature: Signature) -> SignatureId {
        SignatureId::new(self.signatures.number(signature, &mut self.module.signatures))
    }

    /// The id of a constant.
    pub fn constant(&mut self, constant: Constant) -> ConstantId {
        ConstantId::new(self.constants.number(constant, &mut self.module.constants))
    }

    /// The id of a location.
    pub fn location(&mut self, location: Location) -> LocationId {
        LocationId::new(self.locations.number(location, &mut self.module.locations))
    }

    /// Adds a symbol.
    pub fn symbol(&mut self, symbol: Symbol) -> SymbolId {
        self.module.symbols.push(symbol);
        SymbolId::new(self.module.symbols.len() as u32 - 1)
    }

    /// Adds a body and ties it to its symbol.
    pub fn function(&mut self, function: Function) -> FunctionId {
        let id = FunctionId::new(self.module.functions.len() as u32);
        if let SymbolKind::Function { body, .. } = &mut self.module.symbols[function.symbol.index()].kind {
            *body = Some(id);
        }
        self.module.functions.push(function);
        id
    }
}
