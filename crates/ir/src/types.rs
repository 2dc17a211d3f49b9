//! What remains of types: classes of values, layouts of named structs, function types.

use crate::ids::{StringId, StructId};
use serde::{Deserialize, Serialize};

/// What kind of value this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Class {
    /// No value.
    #[default]
    Void,
    /// An integer of so many bits.
    Integer(u16),
    /// An address.
    Pointer,
    /// A floating-point number of so many bits.
    Float(u16),
    /// A vector, of pointers or not.
    Vector {
        /// Its elements are addresses.
        pointers: bool,
    },
    /// A struct or array as one value.
    Aggregate {
        /// It holds an address somewhere.
        pointers: bool,
    },
}

impl Class {
    /// May a value of this class be, or hold, an address? An integer as wide as an address may: it is for the
    /// analysis to follow casts.
    pub fn holds_pointers(self) -> bool {
        match self {
            Class::Pointer => true,
            Class::Vector { pointers } | Class::Aggregate { pointers } => pointers,
            Class::Void | Class::Integer(_) | Class::Float(_) => false,
        }
    }
}

/// A named struct or class. Names are those of the source (`conn`, `ns::Conn`): `struct.`, `class.`, `union.` and the
/// numbers that LLVM appends to tell modules' types apart are gone, so that a name joins modules. C's anonymous
/// structs are named `anon` by LLVM and are kept apart by their layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StructType {
    /// Name.
    pub name: StringId,
    /// Size in bytes; 0 if opaque.
    pub size: u64,
    /// Its elements in order of offset.
    pub fields: Box<[Field]>,
}

/// An element of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Distance from the struct's start in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// What it holds; [`Class::Aggregate`] for structs and arrays.
    pub class: Class,
    /// The named struct that it is, or that it is an array of.
    pub nested: Option<StructId>,
    /// Its name in the source, where debug information tells it.
    pub name: Option<StringId>,
}

/// A field of a struct: type and offset tag. Two accesses with different tags are to different memory unless the
/// program casts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tag {
    /// The struct.
    pub structure: StructId,
    /// Distance from its start in bytes.
    pub offset: u64,
}

/// A function type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Signature {
    /// What it gives.
    pub result: Class,
    /// What it takes.
    pub parameters: Box<[Class]>,
    /// More may follow.
    pub variadic: bool,
}
