//! Instructions and terminators.

use crate::constant::Value;
use crate::ids::{BlockId, LocationId, SignatureId, StringId, StructId, SymbolId, TagId};
use crate::types::Class;
use serde::{Deserialize, Serialize};

/// An instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instruction {
    /// What it does.
    pub operation: Operation,
    /// What it gives.
    pub class: Class,
    /// Where it stands in the source.
    pub location: Option<LocationId>,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operation {
    /// Memory in the function's frame.
    Alloca {
        /// Bytes of one element.
        size: u64,
        /// Number of elements; none: one.
        count: Option<Value>,
        /// The named struct that it is, or that it is an array of.
        structure: Option<StructId>,
    },
    /// Reads memory.
    Load {
        /// Where.
        address: Value,
        /// How.
        access: Access,
    },
    /// Writes memory.
    Store {
        /// Where.
        address: Value,
        /// What.
        value: Value,
        /// How.
        access: Access,
    },
    /// Computes an address: `base + constant + Σ index × stride`.
    Offset {
        /// From here.
        base: Value,
        /// Constant part in bytes; fields included.
        constant: i64,
        /// What varies, each with its stride in bytes.
        indices: Box<[(Value, u64)]>,
        /// The fields that it goes through, outermost first.
        path: Box<[TagId]>,
    },
    /// Calls; `invoke` and `callbr` too, whose block ends in [`Terminator::Invoke`] or [`Terminator::Switch`].
    Call {
        /// What.
        callee: Callee,
        /// With what.
        arguments: Box<[Value]>,
        /// As what type of function.
        signature: SignatureId,
    },
    /// Inline assembly: an opaque effect on its operands, and on all memory if it says so.
    Assembly {
        /// The text.
        text: StringId,
        /// Operands, in the order of the call.
        operands: Box<[AssemblyOperand]>,
        /// It declares a clobber of memory.
        clobbers_memory: bool,
        /// Its text has a `lock` prefix or an `xchg`: what it does to memory operands is atomic.
        atomic: bool,
    },
    /// Merges control flow.
    Phi {
        /// One value for each predecessor.
        incoming: Box<[(BlockId, Value)]>,
    },
    /// One of two values.
    Select {
        /// If not 0 …
        condition: Value,
        /// … this,
        yes: Value,
        /// else this.
        no: Value,
    },
    /// Arithmetic.
    Binary {
        /// How.
        operator: BinaryOperator,
        /// Left operand.
        left: Value,
        /// Right operand.
        right: Value,
    },
    /// A comparison; gives a one-bit integer.
    Compare {
        /// How.
        predicate: Predicate,
        /// Left operand.
        left: Value,
        /// Right operand.
        right: Value,
    },
    /// The same value in another form.
    Cast {
        /// How.
        kind: CastKind,
        /// What.
        value: Value,
    },
    /// A member of an aggregate.
    Extract {
        /// The aggregate.
        from: Value,
        /// The member, in bytes from its start.
        offset: u64,
    },
    /// An aggregate with one member replaced.
    Insert {
        /// The aggregate.
        into: Value,
        /// The member.
        value: Value,
        /// Where, in bytes from its start.
        offset: u64,
    },
    /// Copies memory (`memcpy`, `memmove`).
    MemoryCopy {
        /// To.
        to: Value,
        /// From.
        from: Value,
        /// Bytes.
        length: Value,
        /// The two may overlap.
        overlapping: bool,
    },
    /// Fills memory.
    MemoryFill {
        /// Where.
        to: Value,
        /// With what byte.
        byte: Value,
        /// Bytes.
        length: Value,
    },
    /// Atomic read-modify-write; gives the old value.
    ReadModifyWrite {
        /// Where.
        address: Value,
        /// What is done.
        operator: RmwOperator,
        /// With what.
        value: Value,
        /// How.
        access: Access,
    },
    /// Atomic compare-exchange; gives the old value at offset 0 and, at the offset of its second member, whether it
    /// was exchanged.
    CompareExchange {
        /// Where.
        address: Value,
        /// The value that it must have.
        expected: Value,
        /// The value that it gets.
        new: Value,
        /// How, on success.
        access: Access,
        /// Order on failure.
        failure: MemoryOrder,
    },
    /// Orders memory.
    Fence {
        /// How.
        order: MemoryOrder,
        /// Against signal handlers of this thread only.
        single_thread: bool,
    },
    /// The next variable argument.
    VariableArgument {
        /// The list.
        list: Value,
    },
    /// Where an exception arrives.
    LandingPad,
    /// A value made of the operands in a way that is not modelled: vector operations, floating point.
    Mix {
        /// The operands.
        operands: Box<[Value]>,
    },
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Bytes.
    pub size: u32,
    /// What is read or written.
    pub class: Class,
    /// The field, where the bitcode tells it.
    pub tag: Option<TagId>,
    /// The order, if it is atomic.
    pub order: Option<MemoryOrder>,
    /// It is volatile.
    pub volatile: bool,
}

impl Access {
    /// An ordinary access.
    pub fn plain(size: u32, class: Class) -> Access {
        Access {
            size,
            class,
            tag: None,
            order: None,
            volatile: false,
        }
    }

    /// Is it atomic?
    pub fn is_atomic(&self) -> bool {
        self.order.is_some()
    }
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Callee {
    /// A symbol: a function, or an ifunc. (Linking replaces aliases.)
    Direct(SymbolId),
    /// Where a value points to.
    Indirect(Value),
}

/// An operand of inline assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssemblyOperand {
    /// The value; for memory, the address.
    pub value: Value,
    /// What the assembly does with it.
    pub role: AssemblyRole,
}

/// What inline assembly does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssemblyRole {
    /// Takes the value.
    Input,
    /// Reads the memory there, of so many bytes (0: unknown).
    Reads(u32),
    /// Writes the memory there, of so many bytes (0: unknown).
    Writes(u32),
}

/// Where a block goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Terminator {
    /// Back to the caller.
    Return(Option<Value>),
    /// To a block.
    Jump(BlockId),
    /// To one of two blocks.
    Branch {
        /// If not 0 …
        condition: Value,
        /// … here,
        yes: BlockId,
        /// else there.
        no: BlockId,
    },
    /// To the block of the case that the value equals. A value that is not known (`callbr`, `indirectbr`) is none.
    Switch {
        /// The value.
        value: Option<Value>,
        /// Cases; the numbers mean nothing without a value.
        cases: Box<[(i64, BlockId)]>,
        /// Where else.
        default: BlockId,
    },
    /// After the call that is the block's last instruction.
    Invoke {
        /// If it returns.
        normal: BlockId,
        /// If it throws.
        unwind: BlockId,
    },
    /// An exception goes on to the caller.
    Resume,
    /// Nowhere: what stands before does not return.
    Unreachable,
}

impl Terminator {
    /// The successors, in order; one may come twice.
    pub fn successors(&self) -> impl Iterator<Item = BlockId> + '_ {
        let (fixed, cases): ([Option<BlockId>; 2], &[(i64, BlockId)]) = match self {
            Terminator::Return(_) | Terminator::Resume | Terminator::Unreachable => ([None, None], &[]),
            Terminator::Jump(to) => ([Some(*to), None], &[]),
            Terminator::Branch { yes, no, .. } => ([Some(*yes), Some(*no)], &[]),
            Terminator::Switch { cases, default, .. } => ([Some(*default), None], cases),
            Terminator::Invoke { normal, unwind } => ([Some(*normal), Some(*unwind)], &[]),
        };
        fixed.into_iter().flatten().chain(cases.iter().map(|(_, to)| *to))
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// The name in the text form.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$case => $text,)*
                }
            }

            /// The one with this name.
            pub fn from_name(name: &str) -> Option<$name> {
                match name {
                    $($text => Some($name::$case),)*
                    _ => None,
                }
            }
        }
    };
}

named! {
    /// Arithmetic.
    BinaryOperator {
        /// Sum.
        Add = "add",
        /// Difference.
        Sub = "sub",
        /// Product.
        Mul = "mul",
        /// Quotient, unsigned.
        UDiv = "udiv",
        /// Quotient, signed.
        SDiv = "sdiv",
        /// Remainder, unsigned.
        URem = "urem",
        /// Remainder, signed.
        SRem = "srem",
        /// Left shift.
        Shl = "shl",
        /// Right shift, zeros follow.
        LShr = "lshr",
        /// Right shift, the sign follows.
        AShr = "ashr",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
    }
}

named! {
    /// A comparison.
    Predicate {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Less, signed.
        Slt = "slt",
        /// At most, signed.
        Sle = "sle",
        /// Greater, signed.
        Sgt = "sgt",
        /// At least, signed.
        Sge = "sge",
        /// Less, unsigned.
        Ult = "ult",
        /// At most, unsigned.
        Ule = "ule",
        /// Greater, unsigned.
        Ugt = "ugt",
        /// At least, unsigned.
        Uge = "uge",
        /// Of floating-point numbers.
        Float = "fcmp",
    }
}

named! {
    /// The same value in another form.
    CastKind {
        /// Fewer bits.
        Truncate = "trunc",
        /// More bits, zeros.
        ZeroExtend = "zext",
        /// More bits, the sign.
        SignExtend = "sext",
        /// An address as an integer.
        PointerToInteger = "ptrtoint",
        /// An integer as an address.
        IntegerToPointer = "inttoptr",
        /// The same bits (bitcast, freeze, address spaces, intrinsics that give their operand back).
        Same = "same",
        /// Between integers and floating-point numbers, or their sizes.
        Convert = "convert",
    }
}

named! {
    /// What an atomic read-modify-write does.
    RmwOperator {
        /// The new value replaces the old one.
        Exchange = "xchg",
        /// Sum.
        Add = "add",
        /// Difference.
        Sub = "sub",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Anything else: nand, minima, maxima, floating point.
        Other = "other",
    }
}

named! {
    /// The order of an atomic operation.
    MemoryOrder {
        /// `unordered` or `monotonic`.
        Relaxed = "relaxed",
        /// Acquire.
        Acquire = "acquire",
        /// Release.
        Release = "release",
        /// Both.
        AcquireRelease = "acq_rel",
        /// Sequentially consistent.
        SequentiallyConsistent = "seq_cst",
    }
}
