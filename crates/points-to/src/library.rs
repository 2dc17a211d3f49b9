//! What functions without a body (or with one that should not be looked into) do with addresses. Told by whoever
//! calls the analysis, from its models.

/// Knows library functions by linkage name.
pub trait Library {
    /// What a call of this function does with addresses; none if it is not known.
    fn effect(&self, name: &str) -> Option<Effect>;
}

/// What a call does with addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// What it gives back.
    pub returns: Returns,
    /// Functions that it calls, now or later.
    pub calls: Vec<Callback>,
    /// An argument behind whose address it leaves the address of a new object (`posix_memalign`).
    pub fresh_at: Option<u16>,
    /// What the second argument points to is copied to what the first points to.
    pub copies: Option<(u16, u16)>,
    /// Arguments whose objects it makes known to code that the program does not see. For a function without an
    /// effect, all.
    pub publishes: Vec<u16>,
}

/// What a call gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// Something not known, the same for all calls of the function.
    #[default]
    Unknown,
    /// The address of a new object.
    Fresh,
    /// An argument, or an address in the same object.
    Argument(u16),
    /// No address.
    Nothing,
}

/// A function that a call has called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Where the function's address is found: the argument, then offsets to add and load from, one after another.
    /// With no offset the argument is the function.
    pub function: (u16, Vec<i64>),
    /// What it is called with.
    pub arguments: Vec<Passed>,
    /// It is called before the call returns; else at any later time, by any thread.
    pub now: bool,
}

/// An argument that a callback gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The call's argument with this number, or an address in its object.
    Argument(u16),
    /// What the call's argument with this number points to.
    Behind(u16),
    /// Something not known.
    Unknown,
}

/// A library of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Library for Nothing {
    fn effect(&self, _: &str) -> Option<Effect> {
        None
    }
}
