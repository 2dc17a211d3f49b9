//! Parses a module: structs and symbols; bodies in [`super::parse_function`].

use super::parse_function;
use super::print::attribute_words;
use super::tokens::{Line, ParseError};
use crate::constant::Constant;
use crate::ids::{ConstantId, LocationId, SignatureId, StringId, StructId, SymbolId, TagId};
use crate::location::Location;
use crate::module::{Module, ModuleBuilder, Provenance};
use crate::symbol::{Attributes, Initialiser, Linkage, Symbol, SymbolKind};
use crate::types::{Class, Field, Signature, StructType};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A module being parsed, with what its names stand for.
#[derive(Default)]
pub(super) struct Parser {
    pub(super) builder: ModuleBuilder,
    symbols: FxHashMap<String, SymbolId>,
    structs: FxHashMap<String, StructId>,
}

pub(super) fn module(text: &str) -> Result<Module, ParseError> {
    let lines = Line::all(text);
    let mut parser = Parser::default();
    parser.names(&lines)?;
    // Bodies last: they call what is declared below them.
    let mut bodies = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        at = parser.statement(&lines, at, &mut bodies)?;
    }
    for body in bodies {
        let function = parse_function::body(&mut parser, body.symbol, body.location, &lines[body.lines])?;
        parser.builder.function(function);
    }
    parser.unnumber();
    Ok(parser.builder.module)
}

/// A definition whose head has been read.
struct Body {
    symbol: SymbolId,
    location: Option<LocationId>,
    lines: Range<usize>,
}

const SYMBOLS: [&str; 5] = ["global", "declare", "define", "alias", "ifunc"];

impl Parser {
    /// Gives every symbol and struct its id, so that they may be used above where they are told.
    fn names(&mut self, lines: &[Line]) -> Result<(), ParseError> {
        let nothing = self.builder.string("");
        for line in lines {
            let mut line = line.fork();
            if line.take("struct") {
                line.expect("%")?;
                let text = line.name()?;
                let name = self.builder.string(&text);
                let id = StructId::new(self.builder.module.structs.len() as u32);
                self.builder.module.structs.push(StructType {
                    name,
                    size: 0,
                    fields: [].into(),
                });
                self.structs.insert(text, id);
            } else if SYMBOLS.iter().any(|word| line.take(word)) {
                line.expect("@")?;
                let text = line.name()?;
                let id = self.builder.symbol(Symbol {
                    name: self
                        .builder
                        .module
                        .strings
                        .len()
                        .try_into()
                        .map_or(nothing, |n: u32| n.into()),
                    linkage: Linkage::External,
                    kind: SymbolKind::Alias { target: None },
                    section: None,
                    location: None,
                    address_taken: false,
                });
                let name = self.builder.string(&text);
                self.builder.module.symbols[id.index()].name = name;
                if self.symbols.insert(text, id).is_some() {
                    return Err(line.error("this symbol is there already"));
                }
            }
        }
        Ok(())
    }

    /// Takes the numbers away that told equal names apart.
    fn unnumber(&mut self) {
        let plain = |name: &str| name.rsplit_once('#').map(|(plain, _)| plain.to_owned());
        for n in 0..self.builder.module.symbols.len() {
            let name = self.builder.module.symbols[n].name;
            if let Some(text) = plain(&self.builder.module[name]) {
                self.builder.module.symbols[n].name = self.builder.string(&text);
            }
        }
        for n in 0..self.builder.module.structs.len() {
            let name = self.builder.module.structs[n].name;
            if let Some(text) = plain(&self.builder.module[name]) {
                self.builder.module.structs[n].name = self.builder.string(&text);
            }
        }
    }

    /// Reads the statement at `at` and gives the next one's place.
    fn statement(&mut self, lines: &[Line], at: usize, bodies: &mut Vec<Body>) -> Result<usize, ParseError> {
        let mut line = lines[at].fork();
        if line.take("module") {
            let source = line.string()?;
            self.builder.module.units.push(Provenance {
                source,
                ..Provenance::default()
            });
        } else if line.take("struct") {
            self.structure(&mut line)?;
        } else if line.take("global") {
            self.global(&mut line)?;
        } else if line.take("declare") {
            self.function(&mut line)?;
        } else if line.take("define") {
            let (symbol, declared) = self.function(&mut line)?;
            let location = if line.take("body") {
                self.location(&mut line, None)?
            } else {
                declared
            };
            line.expect("{")?;
            line.end()?;
            let end = (at..lines.len())
                .find(|n| lines[*n].at("}"))
                .ok_or_else(|| line.error("the body does not end"))?;
            bodies.push(Body {
                symbol,
                location,
                lines: at + 1..end,
            });
            return Ok(end + 1);
        } else if line.take("alias") {
            let (id, ..) = self.head(&mut line)?;
            let target = if line.take("=") {
                Some((self.symbol(&mut line)?, line.moved()?))
            } else {
                None
            };
            self.builder.module.symbols[id.index()].kind = SymbolKind::Alias { target };
        } else if line.take("ifunc") {
            let (id, ..) = self.head(&mut line)?;
            let resolver = if line.take("=") {
                Some(self.symbol(&mut line)?)
            } else {
                None
            };
            self.builder.module.symbols[id.index()].kind = SymbolKind::IFunc { resolver };
        } else {
            return Err(line.error("no such statement"));
        }
        line.end()?;
        Ok(at + 1)
    }

    fn structure(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let id = self.struct_name(line)?;
        let size = line.number()?;
        line.expect("{")?;
        let fields = line.list("}", |line| {
            let (offset, class, size) = (line.number()?, class(line)?, line.number()?);
            let name = if line.at("\"") || line.fork().string().is_ok() {
                Some(self.builder.string(&line.string()?))
            } else {
                None
            };
            let nested = if line.at("%") {
                Some(self.struct_name(line)?)
            } else {
                None
            };
            Ok(Field {
                offset,
                size,
                class,
                nested,
                name,
            })
        })?;
        let row = &mut self.builder.module.structs[id.index()];
        (row.size, row.fields) = (size, fields);
        Ok(())
    }

    pub(super) fn struct_name(&mut self, line: &mut Line) -> Result<StructId, ParseError> {
        line.expect("%")?;
        self.known_struct(line)
    }

    fn known_struct(&self, line: &mut Line) -> Result<StructId, ParseError> {
        let name = line.name()?;
        self.structs
            .get(&name)
            .copied()
            .ok_or_else(|| line.error(&format!("no struct {name}")))
    }

    pub(super) fn symbol(&self, line: &mut Line) -> Result<SymbolId, ParseError> {
        line.expect("@")?;
        let name = line.name()?;
        self.symbols
            .get(&name)
            .copied()
            .ok_or_else(|| line.error(&format!("no symbol {name}")))
    }

    pub(super) fn tag(&mut self, line: &mut Line) -> Result<TagId, ParseError> {
        let structure = self.known_struct(line)?;
        line.expect("+")?;
        let offset = line.number()?;
        Ok(self.builder.tag(structure, offset))
    }

    /// Name and what follows it for every kind of symbol.
    fn head(&mut self, line: &mut Line) -> Result<(SymbolId, Linkage), ParseError> {
        let id = self.symbol(line)?;
        let linkage = if line.take("internal") {
            Linkage::Internal
        } else if line.take("weak") {
            Linkage::Weak
        } else {
            line.take("external");
            Linkage::External
        };
        let section = if line.take("section") {
            Some(self.builder.string(&line.string()?))
        } else {
            None
        };
        let symbol = &mut self.builder.module.symbols[id.index()];
        (symbol.linkage, symbol.section) = (linkage, section);
        symbol.address_taken = line.take("address_taken");
        Ok((id, linkage))
    }

    fn global(&mut self, line: &mut Line) -> Result<(), ParseError> {
        let (id, _) = self.head(line)?;
        let (constant, thread_local, undefined) =
            (line.take("constant"), line.take("thread_local"), line.take("undefined"));
        let size = line.number()?;
        let structure = if line.at("%") {
            Some(self.struct_name(line)?)
        } else {
            None
        };
        let mut initialisers: Box<[Initialiser]> = Box::default();
        if line.take("=") {
            line.expect("{")?;
            initialisers = line.list("}", |line| {
                let offset = line.number()?;
                line.expect(":")?;
                let value = self.constant(line)?;
                let tag = if line.take("tag") { Some(self.tag(line)?) } else { None };
                Ok(Initialiser { offset, value, tag })
            })?;
        }
        let location = self.location(line, None)?;
        let symbol = &mut self.builder.module.symbols[id.index()];
        symbol.location = location;
        let defined = !undefined;
        symbol.kind = SymbolKind::Variable {
            size,
            structure,
            constant,
            thread_local,
            defined,
            initialisers,
        };
        Ok(())
    }

    fn function(&mut self, line: &mut Line) -> Result<(SymbolId, Option<LocationId>), ParseError> {
        let (id, _) = self.head(line)?;
        let mut attributes = Attributes::default();
        for (word, set) in attribute_words(&mut attributes) {
            *set = line.take(word);
        }
        let signature = self.signature(line)?;
        let location = self.place(line, self.builder.module[id].name)?;
        let symbol = &mut self.builder.module.symbols[id.index()];
        symbol.location = location;
        symbol.kind = SymbolKind::Function {
            signature,
            attributes,
            body: None,
        };
        Ok((id, location))
    }

    /// A function's location; the shorthand `at "file":LINE` stands in the function itself.
    fn place(&mut self, line: &mut Line, name: StringId) -> Result<Option<LocationId>, ParseError> {
        let mut short = line.fork();
        if !short.take("at") {
            return Ok(None);
        }
        let file = short.string()?;
        short.expect(":")?;
        let number = short.number()?;
        if short.take(":") {
            return self.location(line, None);
        }
        *line = short;
        let (file, function) = (self.builder.string(&file), name);
        let location = Location {
            file,
            function,
            line: number,
            column: 0,
            inlined_at: None,
        };
        Ok(Some(self.builder.location(location)))
    }

    pub(super) fn signature(&mut self, line: &mut Line) -> Result<SignatureId, ParseError> {
        line.expect("(")?;
        let mut variadic = false;
        let parameters = line.list(")", |line| {
            variadic = line.take("...");
            if variadic { Ok(Class::Void) } else { class(line) }
        })?;
        let parameters = parameters
            .iter()
            .copied()
            .filter(|class| *class != Class::Void)
            .collect();
        let result = class(line)?;
        Ok(self.builder.signature(Signature {
            result,
            parameters,
            variadic,
        }))
    }

    /// `at …`, if it follows. `own` is the function's location, for places in its file and source.
    pub(super) fn location(
        &mut self,
        line: &mut Line,
        own: Option<LocationId>,
    ) -> Result<Option<LocationId>, ParseError> {
        let mut chain = Vec::new();
        let mut word = "at";
        while line.take(word) {
            word = "inlined";
            if line.fork().string().is_ok() {
                let file = line.string()?;
                line.expect(":")?;
                let place = (line.number()?, line.expect(":").and_then(|()| line.number())?);
                line.expect("in")?;
                let function = line.string()?;
                chain.push((self.builder.string(&file), self.builder.string(&function), place));
            } else {
                let own = own.ok_or_else(|| line.error("the function has no location of its own"))?;
                let Location { file, function, .. } = self.builder.module[own];
                chain.push((
                    file,
                    function,
                    (line.number()?, line.expect(":").and_then(|()| line.number())?),
                ));
            }
        }
        let mut outer = None;
        for (file, function, (line, column)) in chain.into_iter().rev() {
            outer = Some(self.builder.location(Location {
                file,
                function,
                line,
                column,
                inlined_at: outer,
            }));
        }
        Ok(outer)
    }

    /// A constant.
    pub(super) fn constant(&mut self, line: &mut Line) -> Result<ConstantId, ParseError> {
        let constant = if line.take("null") {
            Constant::Null
        } else if line.take("undef") {
            Constant::Undefined
        } else if line.take("opaque") {
            Constant::Opaque
        } else if line.at("@") {
            let symbol = self.symbol(line)?;
            let offset = line.moved()?;
            let tag = if line.take("!") { Some(self.tag(line)?) } else { None };
            Constant::Address { symbol, offset, tag }
        } else if line.take("{") {
            Constant::Aggregate(line.list("}", |line| {
                let offset = line.number()?;
                line.expect(":")?;
                Ok((offset, self.constant(line)?))
            })?)
        } else {
            let value = line.number()?;
            match class(line)? {
                Class::Integer(bits) => Constant::Integer { bits, value },
                _ => return Err(line.error("constants are integers")),
            }
        };
        Ok(self.builder.constant(constant))
    }
}

/// A class.
pub(super) fn class(line: &mut Line) -> Result<Class, ParseError> {
    let word = line.word()?;
    let bits = |text: &str| text.parse().map_err(|_| line.error("class expected"));
    Ok(match word {
        "void" => Class::Void,
        "ptr" => Class::Pointer,
        "vec" => Class::Vector { pointers: false },
        "vecptr" => Class::Vector { pointers: true },
        "agg" => Class::Aggregate { pointers: false },
        "aggptr" => Class::Aggregate { pointers: true },
        _ => match word.split_at_checked(1) {
            Some(("i", digits)) => Class::Integer(bits(digits)?),
            Some(("f", digits)) => Class::Float(bits(digits)?),
            _ => return Err(line.error("class expected")),
        },
    })
}
