//! Names for symbols and functions that stay when other files change, in the place of their numbers.
//!
//! A name is a digest of what the symbol is called, in which unit if that is its only one, and of what an execution may
//! learn of it: what a constant holds, whether a function has a body. What is written and read for another program is
//! written by names ([`Identities::write`]).

use super::content::Content;
use crate::entering::{Wide, digest};
use crate::subject::Subject;
use deadheat_ir::{Constant, ConstantId, Linkage, SymbolId, SymbolKind};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::sync::Arc;

/// Names are above all numbers, which stand for themselves where there is no row.
const NAME: u64 = 1 << 63;

/// The names of a program.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    pub(super) symbols: Vec<u64>,
    pub(super) functions: Vec<u64>,
    constants: Vec<u64>,
    symbol_of: FxHashMap<u64, u32>,
    function_of: FxHashMap<u64, u32>,
}

thread_local! {
    /// Those of the value that is being written or read.
    static CURRENT: RefCell<Option<Names>> = const { RefCell::new(None) };
}

impl Identities {
    /// Of a program.
    pub(super) fn of(subject: &Subject<'_>) -> Identities {
        let module = subject.module;
        let mut all = Identities::default();
        // A unit's own symbols stand together, its functions after its variables.
        let mut unit = 0;
        let mut units = vec![0; module.symbols.len()];
        for (id, symbol) in module.symbols.iter().enumerate().rev() {
            if let (Linkage::Internal, Some(body)) = (symbol.linkage, symbol.body()) {
                unit = module[body].unit;
            }
            units[id] = unit;
        }
        let mut times: FxHashMap<(u64, &str), u32> = FxHashMap::default();
        for (id, symbol) in module.symbols() {
            let own = match symbol.linkage {
                Linkage::Internal => {
                    let unit = symbol.body().map_or(units[id.index()], |body| module[body].unit);
                    let source = module.units.get(unit as usize).map_or("", |unit| &unit.source);
                    digest(&source) as u64
                }
                _ => 0,
            };
            let name = module.name(id);
            let times = times.entry((own, name)).or_default();
            *times += 1;
            let kind = matches!(symbol.kind, SymbolKind::Function { .. });
            let known = (symbol.body().is_some(), subject.model(id).is_some());
            all.symbols
                .push(digest(&(own, name, *times, kind, known)) as u64 | NAME);
        }
        all.constants = constants(subject, &all.symbols);
        let learnt: Vec<u64> = module.symbols().map(|(id, _)| all.learnt(subject, id)).collect();
        for (name, learnt) in all.symbols.iter_mut().zip(learnt) {
            *name = digest(&(*name, learnt)) as u64 | NAME;
        }
        all.constants = constants(subject, &all.symbols);
        all.functions = module.functions.iter().map(|f| all.symbols[f.symbol.index()]).collect();
        let number = |names: &[u64]| names.iter().copied().zip(0..).collect();
        all.symbol_of = number(&all.symbols);
        all.function_of = number(&all.functions);
        all
    }

    /// What an execution may learn of a symbol.
    fn learnt(&self, subject: &Subject<'_>, symbol: SymbolId) -> u64 {
        let learnt = match &subject.module[symbol].kind {
            SymbolKind::Function { attributes, .. } => return self.content(attributes) as u64,
            SymbolKind::Variable {
                structure,
                constant,
                thread_local,
                initialisers,
                ..
            } => {
                let held = initialisers
                    .iter()
                    .filter_map(|i| match *constant || is_address(subject, i.value) {
                        true => Some((i.offset, self.constant(i.value.number()))),
                        false => None,
                    });
                let own = subject.start_only.may_write(symbol);
                digest(&(
                    structure.is_none(),
                    constant,
                    thread_local,
                    own,
                    held.collect::<Vec<_>>(),
                ))
            }
            SymbolKind::Alias { .. } => 1,
            SymbolKind::IFunc { .. } => 2,
        };
        learnt as u64
    }

    /// The digest of a value of the program's.
    pub(super) fn content(&self, value: &impl Serialize) -> u128 {
        let mut content = Content {
            identities: self,
            hash: Wide::default(),
        };
        match value.serialize(&mut content) {
            Ok(()) => content.hash.wide(),
            Err(_) => 0,
        }
    }

    pub(super) fn constant(&self, number: u32) -> u64 {
        self.constants.get(number as usize).copied().unwrap_or(number.into())
    }

    /// The name of a symbol; a number without a row stands for itself.
    pub(super) fn symbol(&self, number: u32) -> u64 {
        self.symbols.get(number as usize).copied().unwrap_or(number.into())
    }

    /// The name of a function.
    pub(super) fn function(&self, number: u32) -> u64 {
        self.functions.get(number as usize).copied().unwrap_or(number.into())
    }

    /// The function of a name.
    pub(super) fn function_of(&self, name: u64) -> Option<u32> {
        self.function_of.get(&name).copied()
    }

    /// Whether symbols and functions of an earlier program, named in order, have the same order here as far as they are here.
    pub(super) fn agree(&self, symbols: &[u64], functions: &[u64]) -> bool {
        let in_order = |names: &[u64], of: &FxHashMap<u64, u32>| {
            let numbers: Vec<u32> = names.iter().filter_map(|name| of.get(name).copied()).collect();
            numbers.is_sorted_by(|a, b| a < b)
        };
        let one_each = self.symbol_of.len() == self.symbols.len() && self.function_of.len() == self.functions.len();
        one_each && in_order(symbols, &self.symbol_of) && in_order(functions, &self.function_of)
    }

    /// A value with names in the place of numbers: a table of them, and the value.
    pub(super) fn write(self: &Arc<Self>, value: &impl Serialize) -> Option<Vec<u8>> {
        CURRENT.set(Some(Names::of(self, Vec::new())));
        let written = postcard::to_stdvec(value);
        let names = CURRENT.take()?;
        let mut all = postcard::to_stdvec(&names.table).ok()?;
        all.extend(written.ok()?);
        Some(all)
    }

    /// A value that was written so; none if it names what is not here.
    pub(super) fn read<T: DeserializeOwned>(self: &Arc<Self>, written: &[u8]) -> Option<T> {
        let (table, rest) = postcard::take_from_bytes(written).ok()?;
        CURRENT.set(Some(Names::of(self, table)));
        let value = postcard::from_bytes(rest);
        CURRENT.set(None);
        value.ok()
    }
}

/// The names in one value.
struct Names {
    identities: Arc<Identities>,
    table: Vec<u64>,
    places: FxHashMap<u64, u32>,
}

impl Names {
    fn of(identities: &Arc<Identities>, table: Vec<u64>) -> Names {
        Names {
            identities: Arc::clone(identities),
            table,
            places: FxHashMap::default(),
        }
    }

    fn place(&mut self, name: u64) -> u32 {
        let table = &mut self.table;
        *self.places.entry(name).or_insert_with(|| {
            table.push(name);
            table.len() as u32 - 1
        })
    }
}

fn is_address(subject: &Subject<'_>, value: ConstantId) -> bool {
    matches!(subject.module[value], Constant::Address { .. })
}

/// What constants hold, by the names of symbols.
fn constants(subject: &Subject<'_>, symbols: &[u64]) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(subject.module.constants.len());
    for constant in &subject.module.constants {
        let held = match constant {
            Constant::Integer { bits, value } => digest(&(1, bits, value)),
            Constant::Null => 2,
            Constant::Undefined => 3,
            Constant::Opaque => 4,
            Constant::Address { symbol, offset, .. } => digest(&(5, symbols[symbol.index()], offset)),
            Constant::Aggregate(members) => {
                let member = |(offset, id): &(u64, ConstantId)| (*offset, all.get(id.index()).copied());
                digest(&members.iter().map(member).collect::<Vec<_>>())
            }
        };
        all.push(held as u64);
    }
    all
}

macro_rules! named {
    ($($(#[$doc:meta])* $module:ident $name:ident $numbers:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) mod $module {
            use super::{CURRENT, NAME};
            use serde::de::{Deserialize, Deserializer, Error};
            use serde::ser::{self, Serialize, Serializer};

            pub(crate) fn serialize<S: Serializer>(number: &u32, to: S) -> Result<S::Ok, S::Error> {
                let place = CURRENT.with_borrow_mut(|names| {
                    let names = names.as_mut()?;
                    let name = names.identities.$name(*number);
                    Some(names.place(name))
                });
                place.ok_or_else(|| ser::Error::custom("no names"))?.serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
                let place = u32::deserialize(from)?;
                let number = CURRENT.with_borrow(|names| {
                    let names = names.as_ref()?;
                    match *names.table.get(place as usize)? {
                        name if name & NAME == 0 => u32::try_from(name).ok(),
                        name => names.identities.$numbers.get(&name).copied(),
                    }
                });
                number.ok_or_else(|| D::Error::custom("gone"))
            }
        }
    )*};
}

named! {
    /// A symbol's number, written as its name.
    symbol_number symbol symbol_of;
    /// A function's number, written as its name.
    function_number function function_of;
}
