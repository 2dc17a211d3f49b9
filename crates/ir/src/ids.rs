//! Typed indices into a module's tables. Four bytes each, `Option` included.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(from = "u32")]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of row `index`. Indices end below `u32::MAX`.
            pub const fn new(index: u32) -> $name {
                $name(NonZeroU32::MIN.saturating_add(index))
            }

            /// The row.
            pub const fn index(self) -> usize {
                self.number() as usize
            }

            /// The row as it is stored.
            pub const fn number(self) -> u32 {
                self.0.get() - 1
            }
        }

        impl Serialize for $name {
            /// By the table's name, which formats may leave out.
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_newtype_struct(stringify!($name), &self.number())
            }
        }

        impl From<u32> for $name {
            fn from(index: u32) -> $name {
                $name::new(index)
            }
        }

        impl From<$name> for u32 {
            fn from(id: $name) -> u32 {
                id.number()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.number())
            }
        }
    )*};
}

ids! {
    /// A string of [`Module::strings`](crate::Module::strings).
    StringId
    /// A named struct of [`Module::structs`](crate::Module::structs).
    StructId
    /// A field of a struct, of [`Module::tags`](crate::Module::tags).
    TagId
    /// A function type of [`Module::signatures`](crate::Module::signatures).
    SignatureId
    /// A constant of [`Module::constants`](crate::Module::constants).
    ConstantId
    /// A function, variable, alias or ifunc of [`Module::symbols`](crate::Module::symbols).
    SymbolId
    /// A source location of [`Module::locations`](crate::Module::locations).
    LocationId
    /// A body of [`Module::functions`](crate::Module::functions).
    FunctionId
    /// A block of [`Function::blocks`](crate::Function::blocks); number 0 is the entry.
    BlockId
    /// A parameter or an instruction of a function, see the [crate's head](crate).
    LocalId
}
