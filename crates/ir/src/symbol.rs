//! Symbols: what modules are linked by.

use crate::ids::{ConstantId, FunctionId, LocationId, SignatureId, StringId, StructId, SymbolId, TagId};
use serde::{Deserialize, Serialize};

/// A function, variable, alias or ifunc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Symbol {
    /// Linkage name; empty for what has none.
    pub name: StringId,
    /// How definitions of this name join.
    pub linkage: Linkage,
    /// What it is.
    pub kind: SymbolKind,
    /// Section that the source asks for (`.init.text` of the Linux kernel).
    pub section: Option<StringId>,
    /// Where it is declared.
    pub location: Option<LocationId>,
    /// Some instruction or initialiser uses its address for more than a direct call, load or store.
    pub address_taken: bool,
}

/// How definitions of the same name join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Linkage {
    /// Seen by other modules; defined once.
    External,
    /// Seen by other modules; a strong definition wins, else the first (weak, linkonce, common).
    Weak,
    /// The module's own.
    Internal,
}

/// What a symbol is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SymbolKind {
    /// A function.
    Function {
        /// Its type.
        signature: SignatureId,
        /// What the front end promises.
        attributes: Attributes,
        /// Its body, if defined here.
        body: Option<FunctionId>,
    },
    /// A variable.
    Variable {
        /// Bytes; 0 if unknown.
        size: u64,
        /// The named struct that it is, or that it is an array of.
        structure: Option<StructId>,
        /// It is never written.
        constant: bool,
        /// Each thread has its own.
        thread_local: bool,
        /// It is defined here.
        defined: bool,
        /// Initial values that are addresses, and the first integers that are not 0, by offset.
        initialisers: Box<[Initialiser]>,
    },
    /// Another name for an address.
    Alias {
        /// The address; none if it could not be read.
        target: Option<(SymbolId, i64)>,
    },
    /// A function that is chosen at start by a resolver.
    IFunc {
        /// The resolver: a function that gives the chosen one's address.
        resolver: Option<SymbolId>,
    },
}

/// Part of a variable's initial value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Initialiser {
    /// Where in the variable, in bytes.
    pub offset: u64,
    /// What stands there.
    pub value: ConstantId,
    /// The innermost named struct's field that it initialises.
    pub tag: Option<TagId>,
}

/// What the front end promises about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Attributes {
    /// Never returns.
    pub no_return: bool,
    /// Writes no memory that its caller sees.
    pub read_only: bool,
    /// Touches no memory that its caller sees.
    pub no_memory: bool,
    /// What it returns is no alias of anything (`malloc`).
    pub fresh_result: bool,
    /// Returns again later (`setjmp`).
    pub returns_twice: bool,
    /// Runs before `main` (a constructor).
    pub constructor: bool,
    /// Runs after `main` (a destructor).
    pub destructor: bool,
}

impl Symbol {
    /// Is it defined in its module (or program)?
    pub fn is_defined(&self) -> bool {
        match &self.kind {
            SymbolKind::Function { body, .. } => body.is_some(),
            SymbolKind::Variable { defined, .. } => *defined,
            SymbolKind::Alias { .. } | SymbolKind::IFunc { .. } => true,
        }
    }

    /// The body, if it is a function with one.
    pub fn body(&self) -> Option<FunctionId> {
        match self.kind {
            SymbolKind::Function { body, .. } => body,
            _ => None,
        }
    }
}
