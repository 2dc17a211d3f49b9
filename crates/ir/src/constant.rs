//! Constants and operands.

use crate::ids::{ConstantId, LocalId, SymbolId, TagId};
use serde::{Deserialize, Serialize};

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Value {
    /// A parameter or the result of an instruction.
    Local(LocalId),
    /// A constant.
    Constant(ConstantId),
}

impl Value {
    /// The local, if it is one.
    pub fn local(self) -> Option<LocalId> {
        match self {
            Value::Local(local) => Some(local),
            Value::Constant(_) => None,
        }
    }
}

/// A constant. Equal constants of a module have one id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Constant {
    /// An integer of at most 64 bits, sign-extended.
    Integer {
        /// Its width.
        bits: u16,
        /// Its value.
        value: i64,
    },
    /// The null address, or an aggregate of zeros.
    Null,
    /// `undef` or `poison`.
    Undefined,
    /// The address of a symbol, moved. Constant expressions over one address come to this: casts are dropped.
    Address {
        /// Of what.
        symbol: SymbolId,
        /// Moved by so many bytes.
        offset: i64,
        /// The field arrived at, if the expression names it.
        tag: Option<TagId>,
    },
    /// A struct, array or vector of constants; zero and undefined members are left out.
    Aggregate(Box<[(u64, ConstantId)]>),
    /// Anything else: floating-point numbers, wide integers, differences of addresses, block addresses.
    Opaque,
}
