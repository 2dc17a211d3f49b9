//! The text form: printing and parsing. See the [crate's head](crate) for an example.
//!
//! One statement a line. Symbols are `@name` (quoted if need be; `@name#7` where the name is not unique in the
//! module), structs `%name` (likewise), locals `%0` and so on, or any name when parsed. Constants: `7i32`, `null`, `undef`,
//! `opaque`, `@x+8` (with the field arrived at: `@x+8!conn+8`), `{0: @f, 8: 7i64}`. Classes: `void`, `i32`, `ptr`, `f64`,
//! `vec`, `vecptr`, `agg`, `aggptr`. An access is a class, a size, and after its operands `tag conn+8`, `atomic acquire`,
//! `volatile`. Locations are `at LINE:COLUMN` in the function's own file, in full
//! `at "file":LINE:COLUMN in "function"`, followed by `inlined` and the next.

mod functions;
mod parse;
mod parse_function;
mod print;
#[cfg(test)]
mod tests;
mod tokens;

pub use tokens::ParseError;

use crate::module::Module;

/// Parses the text form of a module.
///
/// # Errors
/// Says at which line what was not understood.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    parse::module(text)
}
