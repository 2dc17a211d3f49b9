//! Prints a module.

use super::tokens::word_char;
use crate::constant::{Constant, Value};
use crate::ids::{ConstantId, LocationId, SignatureId, StringId, StructId, SymbolId, TagId};
use crate::module::Module;
use crate::symbol::{Attributes, Linkage, Symbol, SymbolKind};
use crate::types::Class;
use rustc_hash::FxHashMap;
use std::fmt::{self, Display, Formatter};

/// Prints an item with its module at hand.
pub(super) struct Printer<'m> {
    pub(super) module: &'m Module,
    /// Symbols whose name is empty or not theirs alone.
    ambiguous: Vec<bool>,
    ambiguous_structs: Vec<bool>,
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer::new(self).module(f)
    }
}

/// Which rows have a name that is empty or that other rows have too.
fn ambiguous(names: impl Iterator<Item = StringId> + Clone, empty: impl Fn(StringId) -> bool) -> Vec<bool> {
    let mut count: FxHashMap<StringId, u32> = FxHashMap::default();
    names.clone().for_each(|name| *count.entry(name).or_default() += 1);
    names.map(|name| count[&name] > 1 || empty(name)).collect()
}

impl Display for Class {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Class::Void => f.write_str("void"),
            Class::Integer(bits) => write!(f, "i{bits}"),
            Class::Pointer => f.write_str("ptr"),
            Class::Float(bits) => write!(f, "f{bits}"),
            Class::Vector { pointers } => f.write_str(if *pointers { "vecptr" } else { "vec" }),
            Class::Aggregate { pointers } => f.write_str(if *pointers { "aggptr" } else { "agg" }),
        }
    }
}

/// A string in quotes, as [`super::tokens`] reads it.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A name, in quotes if it needs them.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && self.0.chars().all(word_char) {
            f.write_str(self.0)
        } else {
            Quoted(self.0).fmt(f)
        }
    }
}

impl<'m> Printer<'m> {
    fn new(module: &'m Module) -> Printer<'m> {
        let empty = |name: StringId| module[name].is_empty();
        Printer {
            module,
            ambiguous: ambiguous(module.symbols.iter().map(|s| s.name), empty),
            ambiguous_structs: ambiguous(module.structs.iter().map(|s| s.name), |_| false),
        }
    }

    fn module(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for unit in &self.module.units {
            writeln!(f, "module {}", Quoted(&unit.source))?;
        }
        for (n, _) in self.module.structs.iter().enumerate() {
            self.structure(f, StructId::new(n as u32))?;
        }
        for (id, symbol) in self.module.symbols() {
            self.symbol(f, id, symbol)?;
        }
        Ok(())
    }

    fn structure(&self, f: &mut Formatter<'_>, id: StructId) -> fmt::Result {
        let structure = &self.module[id];
        write!(f, "struct %{} {} {{", self.struct_name(id), structure.size)?;
        for (n, field) in structure.fields.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            write!(f, "{comma} {} {} {}", field.offset, field.class, field.size)?;
            if let Some(name) = field.name {
                write!(f, " {}", Quoted(&self.module[name]))?;
            }
            if let Some(nested) = field.nested {
                write!(f, " %{}", self.struct_name(nested))?;
            }
        }
        writeln!(f, " }}")
    }

    pub(super) fn struct_name(&self, id: StructId) -> impl Display + '_ {
        let text = &self.module[self.module[id].name];
        let number = if self.ambiguous_structs[id.index()] {
            format!("#{}", id.number())
        } else {
            String::new()
        };
        format!("{}{number}", Name(text))
    }

    pub(super) fn symbol_name(&self, id: SymbolId) -> impl Display + '_ {
        let text = self.module.name(id);
        let number = if self.ambiguous[id.index()] {
            format!("#{}", id.number())
        } else {
            String::new()
        };
        format!("@{}{number}", Name(text))
    }

    pub(super) fn tag(&self, id: TagId) -> impl Display + '_ {
        let tag = self.module[id];
        format!("{}+{}", self.struct_name(tag.structure), tag.offset)
    }

    pub(super) fn signature(&self, id: SignatureId) -> String {
        let signature = &self.module[id];
        let mut parameters: Vec<String> = signature.parameters.iter().map(Class::to_string).collect();
        if signature.variadic {
            parameters.push("...".to_owned());
        }
        format!("({}) {}", parameters.join(", "), signature.result)
    }

    pub(super) fn value(&self, value: Value) -> String {
        match value {
            Value::Local(local) => format!("%{}", local.number()),
            Value::Constant(id) => self.constant(id),
        }
    }

    fn constant(&self, id: ConstantId) -> String {
        match &self.module[id] {
            Constant::Integer { bits, value } => format!("{value}i{bits}"),
            Constant::Null => "null".to_owned(),
            Constant::Undefined => "undef".to_owned(),
            Constant::Opaque => "opaque".to_owned(),
            Constant::Address { symbol, offset, tag } => {
                let moved = if *offset == 0 {
                    String::new()
                } else {
                    format!("{offset:+}")
                };
                let tag = tag.map(|tag| format!("!{}", self.tag(tag))).unwrap_or_default();
                format!("{}{moved}{tag}", self.symbol_name(*symbol))
            }
            Constant::Aggregate(members) => {
                let member = |(offset, id): &(u64, ConstantId)| format!("{offset}: {}", self.constant(*id));
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// ` at …`; only line and column where file and function are those that go without saying.
    pub(super) fn location(&self, id: Option<LocationId>, own: Option<(StringId, StringId)>) -> String {
        let mut text = String::new();
        let mut next = id;
        let mut word = "at";
        while let Some(location) = next.map(|id| self.module[id]) {
            let place = format!("{}:{}", location.line, location.column);
            if own == Some((location.file, location.function)) {
                text += &format!(" {word} {place}");
            } else {
                let (file, function) = (&self.module[location.file], &self.module[location.function]);
                text += &format!(" {word} {}:{place} in {}", Quoted(file), Quoted(function));
            }
            word = "inlined";
            next = location.inlined_at;
        }
        text
    }

    fn symbol(&self, f: &mut Formatter<'_>, id: SymbolId, symbol: &Symbol) -> fmt::Result {
        let name = self.symbol_name(id);
        let mut head = match symbol.linkage {
            Linkage::External => "external".to_owned(),
            Linkage::Weak => "weak".to_owned(),
            Linkage::Internal => "internal".to_owned(),
        };
        if let Some(section) = symbol.section {
            head += &format!(" section {}", Quoted(&self.module[section]));
        }
        if symbol.address_taken {
            head += " address_taken";
        }
        let place = self.location(symbol.location, None);
        match &symbol.kind {
            SymbolKind::Function {
                signature,
                attributes,
                body,
            } => {
                let word = if body.is_some() { "define" } else { "declare" };
                write!(
                    f,
                    "{word} {name} {head}{} {}{place}",
                    attributes_text(*attributes),
                    self.signature(*signature)
                )?;
                match body {
                    Some(body) => self.function(f, &self.module[*body]),
                    None => writeln!(f),
                }
            }
            SymbolKind::Variable {
                size,
                structure,
                constant,
                thread_local,
                defined,
                initialisers,
            } => {
                write!(f, "global {name} {head}")?;
                for (flag, word) in [
                    (*constant, " constant"),
                    (*thread_local, " thread_local"),
                    (!*defined, " undefined"),
                ] {
                    f.write_str(if flag { word } else { "" })?;
                }
                write!(f, " {size}")?;
                if let Some(structure) = structure {
                    write!(f, " %{}", self.struct_name(*structure))?;
                }
                let items: Vec<String> = initialisers
                    .iter()
                    .map(|i| {
                        let tag = i.tag.map(|tag| format!(" tag {}", self.tag(tag))).unwrap_or_default();
                        format!("{}: {}{tag}", i.offset, self.constant(i.value))
                    })
                    .collect();
                if !items.is_empty() {
                    write!(f, " = {{{}}}", items.join(", "))?;
                }
                writeln!(f, "{place}")
            }
            SymbolKind::Alias { target } => {
                write!(f, "alias {name} {head}")?;
                if let Some((symbol, offset)) = target {
                    write!(f, " = {}", self.symbol_name(*symbol))?;
                    if *offset != 0 {
                        write!(f, "{offset:+}")?;
                    }
                }
                writeln!(f, "{place}")
            }
            SymbolKind::IFunc { resolver } => {
                write!(f, "ifunc {name} {head}")?;
                if let Some(symbol) = resolver {
                    write!(f, " = {}", self.symbol_name(*symbol))?;
                }
                writeln!(f, "{place}")
            }
        }
    }
}

/// The attributes' words, in the order in which they are printed.
pub(super) fn attribute_words(attributes: &mut Attributes) -> [(&'static str, &mut bool); 7] {
    [
        ("no_return", &mut attributes.no_return),
        ("read_only", &mut attributes.read_only),
        ("no_memory", &mut attributes.no_memory),
        ("fresh_result", &mut attributes.fresh_result),
        ("returns_twice", &mut attributes.returns_twice),
        ("constructor", &mut attributes.constructor),
        ("destructor", &mut attributes.destructor),
    ]
}

fn attributes_text(mut attributes: Attributes) -> String {
    let words = attribute_words(&mut attributes);
    words
        .iter()
        .filter(|(_, set)| **set)
        .map(|(word, _)| format!(" {word}"))
        .collect()
}
