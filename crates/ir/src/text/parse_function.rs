//! Parses a function's body.

use super::parse::{Parser, class};
use super::tokens::{Line, ParseError};
use crate::constant::Value;
use crate::function::{Block, Function};
use crate::ids::{BlockId, LocalId, LocationId, SymbolId};
use crate::instruction::*;
use crate::symbol::SymbolKind;
use crate::types::Class;
use rustc_hash::FxHashMap;

/// What names stand for in a body.
struct Body<'p> {
    parser: &'p mut Parser,
    own: Option<LocationId>,
    locals: FxHashMap<String, LocalId>,
    blocks: FxHashMap<String, BlockId>,
}

const TERMINATORS: [&str; 7] = ["return", "jump", "branch", "switch", "invoke", "resume", "unreachable"];

pub(super) fn body(
    parser: &mut Parser,
    symbol: SymbolId,
    location: Option<LocationId>,
    lines: &[Line],
) -> Result<Function, ParseError> {
    let parameters = match parser.builder.module[symbol].kind {
        SymbolKind::Function { signature, .. } => parser.builder.module[signature].parameters.len() as u32,
        _ => 0,
    };
    let mut body = Body {
        parser,
        own: location,
        locals: FxHashMap::default(),
        blocks: FxHashMap::default(),
    };
    body.names(parameters, lines)?;
    let mut function = Function {
        symbol,
        unit: 0,
        parameters,
        location,
        instructions: Vec::new(),
        blocks: Vec::new(),
    };
    let mut start = 0;
    for line in lines {
        let mut line = line.fork();
        if label(&line).is_some() {
            if start != function.instructions.len() {
                return Err(line.error("the block above does not end"));
            }
        } else if is_terminator(&line) {
            let terminator = body.terminator(&mut line)?;
            let location = body.parser.location(&mut line, body.own)?;
            line.end()?;
            let end = function.instructions.len();
            function.blocks.push(Block {
                start: start as u32,
                end: end as u32,
                terminator,
                location,
            });
            start = end;
        } else {
            function.instructions.push(body.instruction(&mut line)?);
        }
    }
    if function.blocks.len() != body.blocks.len() || start != function.instructions.len() {
        let last = lines.last().map(|line| line.error("each block ends in a terminator"));
        return Err(last.unwrap_or(ParseError {
            line: 0,
            what: "a body has a block".to_owned(),
        }));
    }
    Ok(function)
}

/// The label that the line is.
fn label(line: &Line) -> Option<String> {
    let mut line = line.fork();
    let name = line.word().ok()?;
    line.take(":").then_some(())?;
    line.is_empty().then(|| name.to_owned())
}

fn is_terminator(line: &Line) -> bool {
    TERMINATORS.iter().any(|word| line.at(word))
}

impl Body<'_> {
    /// Gives every local and block its number.
    fn names(&mut self, parameters: u32, lines: &[Line]) -> Result<(), ParseError> {
        for n in 0..parameters {
            self.locals.insert(n.to_string(), LocalId::new(n));
        }
        let mut next = parameters;
        for line in lines {
            if let Some(name) = label(line) {
                let id = BlockId::new(self.blocks.len() as u32);
                if self.blocks.insert(name, id).is_some() {
                    return Err(line.error("this label is there already"));
                }
            } else if !is_terminator(line) {
                let mut line = line.fork();
                if line.take("%")
                    && self
                        .locals
                        .insert(line.word()?.to_owned(), LocalId::new(next))
                        .is_some()
                {
                    return Err(line.error("this local is there already"));
                }
                next += 1;
            }
        }
        Ok(())
    }

    fn block(&self, line: &mut Line) -> Result<BlockId, ParseError> {
        let name = line.word()?;
        self.blocks
            .get(name)
            .copied()
            .ok_or_else(|| line.error(&format!("no block {name}")))
    }

    fn value(&mut self, line: &mut Line) -> Result<Value, ParseError> {
        if line.take("%") {
            let name = line.word()?;
            let local = self
                .locals
                .get(name)
                .ok_or_else(|| line.error(&format!("no local {name}")))?;
            return Ok(Value::Local(*local));
        }
        Ok(Value::Constant(self.parser.constant(line)?))
    }

    fn next(&mut self, line: &mut Line) -> Result<Value, ParseError> {
        line.expect(",")?;
        self.value(line)
    }

    fn instruction(&mut self, line: &mut Line) -> Result<Instruction, ParseError> {
        let mut told = None;
        if line.take("%") {
            line.word()?;
            if !line.at("=") {
                told = Some(class(line)?);
            }
            line.expect("=")?;
        }
        let (operation, implied) = self.operation(line)?;
        let location = self.parser.location(line, self.own)?;
        line.end()?;
        Ok(Instruction {
            operation,
            class: told.unwrap_or(implied),
            location,
        })
    }

    /// Class and size of an access; what follows its operands is read by [`Body::how`].
    fn access(&mut self, line: &mut Line) -> Result<Access, ParseError> {
        let class = class(line)?;
        Ok(Access::plain(line.number()?, class))
    }

    fn how(&mut self, line: &mut Line, access: &mut Access) -> Result<(), ParseError> {
        if line.take("tag") {
            access.tag = Some(self.parser.tag(line)?);
        }
        if line.take("atomic") {
            access.order = Some(order(line)?);
        }
        access.volatile = line.take("volatile");
        Ok(())
    }

    /// An operation, and the class that it has if none is told.
    fn operation(&mut self, line: &mut Line) -> Result<(Operation, Class), ParseError> {
        const WORD: Class = Class::Integer(64);
        let word = line.word()?;
        Ok(match word {
            "alloca" => (self.alloca(line)?, Class::Pointer),
            "load" => {
                let mut access = self.access(line)?;
                let address = self.value(line)?;
                self.how(line, &mut access)?;
                (Operation::Load { address, access }, access.class)
            }
            "store" => {
                let mut access = self.access(line)?;
                let value = self.value(line)?;
                line.expect("to")?;
                let address = self.value(line)?;
                self.how(line, &mut access)?;
                (Operation::Store { address, value, access }, Class::Void)
            }
            "offset" => (self.offset(line)?, Class::Pointer),
            "call" => self.call(line)?,
            "asm" => (self.assembly(line)?, Class::Void),
            "phi" => {
                line.expect("[")?;
                let incoming = line.list("]", |line| Ok((self.block(line)?, self.value(line)?)))?;
                (Operation::Phi { incoming }, WORD)
            }
            "select" => {
                let (condition, yes, no) = (self.value(line)?, self.next(line)?, self.next(line)?);
                (Operation::Select { condition, yes, no }, WORD)
            }
            "extract" => {
                let from = self.value(line)?;
                line.expect("at_offset")?;
                (
                    Operation::Extract {
                        from,
                        offset: line.number()?,
                    },
                    WORD,
                )
            }
            "insert" => {
                let (into, value) = (self.value(line)?, self.next(line)?);
                line.expect("at_offset")?;
                let offset = line.number()?;
                (
                    Operation::Insert { into, value, offset },
                    Class::Aggregate { pointers: true },
                )
            }
            "memcpy" | "memmove" => {
                let (to, from, length) = (self.value(line)?, self.next(line)?, self.next(line)?);
                (
                    Operation::MemoryCopy {
                        to,
                        from,
                        length,
                        overlapping: word == "memmove",
                    },
                    Class::Void,
                )
            }
            "memset" => {
                let (to, byte, length) = (self.value(line)?, self.next(line)?, self.next(line)?);
                (Operation::MemoryFill { to, byte, length }, Class::Void)
            }
            "rmw" => {
                let operator = RmwOperator::from_name(line.word()?).ok_or_else(|| line.error("operator expected"))?;
                let mut access = self.access(line)?;
                let (address, value) = (self.value(line)?, self.next(line)?);
                self.how(line, &mut access)?;
                (
                    Operation::ReadModifyWrite {
                        address,
                        operator,
                        value,
                        access,
                    },
                    access.class,
                )
            }
            "cmpxchg" => {
                let mut access = self.access(line)?;
                let (address, expected, new) = (self.value(line)?, self.next(line)?, self.next(line)?);
                line.expect("failure")?;
                let failure = order(line)?;
                self.how(line, &mut access)?;
                let pointers = access.class == Class::Pointer;
                (
                    Operation::CompareExchange {
                        address,
                        expected,
                        new,
                        access,
                        failure,
                    },
                    Class::Aggregate { pointers },
                )
            }
            "fence" => {
                let order = order(line)?;
                (
                    Operation::Fence {
                        order,
                        single_thread: line.take("single_thread"),
                    },
                    Class::Void,
                )
            }
            "va_arg" => (
                Operation::VariableArgument {
                    list: self.value(line)?,
                },
                WORD,
            ),
            "landing_pad" => (Operation::LandingPad, Class::Aggregate { pointers: true }),
            "mix" => {
                line.expect("(")?;
                (
                    Operation::Mix {
                        operands: line.list(")", |line| self.value(line))?,
                    },
                    WORD,
                )
            }
            _ => self.named(word, line)?,
        })
    }

    /// Arithmetic, comparisons and casts.
    fn named(&mut self, word: &str, line: &mut Line) -> Result<(Operation, Class), ParseError> {
        if let Some(operator) = BinaryOperator::from_name(word) {
            let (left, right) = (self.value(line)?, self.next(line)?);
            return Ok((Operation::Binary { operator, left, right }, Class::Integer(64)));
        }
        if let Some(predicate) = Predicate::from_name(word) {
            let (left, right) = (self.value(line)?, self.next(line)?);
            return Ok((Operation::Compare { predicate, left, right }, Class::Integer(1)));
        }
        let kind = CastKind::from_name(word).ok_or_else(|| line.error(&format!("no operation {word}")))?;
        let class = if kind == CastKind::IntegerToPointer {
            Class::Pointer
        } else {
            Class::Integer(64)
        };
        Ok((
            Operation::Cast {
                kind,
                value: self.value(line)?,
            },
            class,
        ))
    }

    fn alloca(&mut self, line: &mut Line) -> Result<Operation, ParseError> {
        let size = line.number()?;
        let structure = if line.at("%") {
            Some(self.parser.struct_name(line)?)
        } else {
            None
        };
        let count = if line.take("times") {
            Some(self.value(line)?)
        } else {
            None
        };
        Ok(Operation::Alloca { size, count, structure })
    }

    fn offset(&mut self, line: &mut Line) -> Result<Operation, ParseError> {
        let base = self.value(line)?;
        let mut constant = 0i64;
        let mut indices = Vec::new();
        loop {
            if line.take("-") {
                constant = constant.wrapping_sub_unsigned(line.number()?);
            } else if line.take("+") {
                if line.fork().number::<i64>().is_ok() && !is_scaled(line) {
                    constant += line.number::<i64>()?;
                } else {
                    let index = self.value(line)?;
                    line.expect("x")?;
                    indices.push((index, line.number()?));
                }
            } else {
                break;
            }
        }
        let path = if line.take("[") {
            line.list("]", |line| self.parser.tag(line))?
        } else {
            Box::default()
        };
        Ok(Operation::Offset {
            base,
            constant,
            indices: indices.into(),
            path,
        })
    }

    fn call(&mut self, line: &mut Line) -> Result<(Operation, Class), ParseError> {
        let told = if line.at("(") {
            Some(self.parser.signature(line)?)
        } else {
            None
        };
        let callee = match line.take("*") {
            true => Callee::Indirect(self.value(line)?),
            false => Callee::Direct(self.parser.symbol(line)?),
        };
        line.expect("(")?;
        let arguments = line.list(")", |line| self.value(line))?;
        let module = &self.parser.builder.module;
        let declared = match callee {
            Callee::Direct(symbol) => match module[symbol].kind {
                SymbolKind::Function { signature, .. } => Some(signature),
                _ => None,
            },
            Callee::Indirect(_) => None,
        };
        let signature = told.or(declared).ok_or_else(|| {
            line.error("a call of what is not a declared function needs its signature: call (ptr) i32 *%f(…)")
        })?;
        let class = module[signature].result;
        Ok((
            Operation::Call {
                callee,
                arguments,
                signature,
            },
            class,
        ))
    }

    fn assembly(&mut self, line: &mut Line) -> Result<Operation, ParseError> {
        let text = line.string()?;
        let text = self.parser.builder.string(&text);
        line.expect("(")?;
        let operands = line.list(")", |line| {
            let role = match line.word()? {
                "in" => AssemblyRole::Input,
                "reads" => AssemblyRole::Reads(line.number()?),
                "writes" => AssemblyRole::Writes(line.number()?),
                _ => return Err(line.error("in, reads or writes expected")),
            };
            Ok(AssemblyOperand {
                value: self.value(line)?,
                role,
            })
        })?;
        let clobbers_memory = line.take("clobbers_memory");
        Ok(Operation::Assembly {
            text,
            operands,
            clobbers_memory,
            atomic: line.take("atomic"),
        })
    }

    fn terminator(&mut self, line: &mut Line) -> Result<Terminator, ParseError> {
        Ok(match line.word()? {
            "return" if line.is_empty() || line.at("at") => Terminator::Return(None),
            "return" => Terminator::Return(Some(self.value(line)?)),
            "jump" => Terminator::Jump(self.block(line)?),
            "branch" => {
                let condition = self.value(line)?;
                line.expect(",")?;
                let yes = self.block(line)?;
                line.expect(",")?;
                Terminator::Branch {
                    condition,
                    yes,
                    no: self.block(line)?,
                }
            }
            "switch" => {
                let value = if line.take("unknown") {
                    None
                } else {
                    Some(self.value(line)?)
                };
                line.expect(",")?;
                let default = self.block(line)?;
                line.expect("[")?;
                let cases = line.list("]", |line| Ok((line.number()?, self.block(line)?)))?;
                Terminator::Switch { value, cases, default }
            }
            "invoke" => {
                let normal = self.block(line)?;
                line.expect(",")?;
                Terminator::Invoke {
                    normal,
                    unwind: self.block(line)?,
                }
            }
            "resume" => Terminator::Resume,
            _ => Terminator::Unreachable,
        })
    }
}

/// Does a constant with a class come next (`3i64 x 8`), and not a number of bytes?
fn is_scaled(line: &Line) -> bool {
    let mut line = line.fork();
    line.number::<i64>().is_ok() && class(&mut line).is_ok_and(|class| matches!(class, Class::Integer(_)))
}

fn order(line: &mut Line) -> Result<MemoryOrder, ParseError> {
    MemoryOrder::from_name(line.word()?).ok_or_else(|| line.error("memory order expected"))
}
