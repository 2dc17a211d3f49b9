//! Prints function bodies.

use super::print::{Printer, Quoted};
use crate::constant::Value;
use crate::function::Function;
use crate::ids::StringId;
use crate::instruction::{Access, AssemblyRole, Callee, Operation, Terminator};
use std::fmt::{self, Formatter};

impl Printer<'_> {
    /// The rest of a definition's line, and the body.
    pub(super) fn function(&self, f: &mut Formatter<'_>, function: &Function) -> fmt::Result {
        let own = function
            .location
            .map(|id| (self.module[id].file, self.module[id].function));
        if function.location.is_some() && function.location != self.module[function.symbol].location {
            write!(f, " body{}", self.location(function.location, None))?;
        }
        writeln!(f, " {{")?;
        for (id, block) in function.blocks() {
            writeln!(f, "b{}:", id.number())?;
            for (local, instruction) in function.block_instructions(block) {
                let place = self.location(instruction.location, own);
                let operation = self.operation(&instruction.operation);
                writeln!(f, "  %{} {} = {operation}{place}", local.number(), instruction.class)?;
            }
            let place = self.location(block.location, own);
            writeln!(f, "  {}{place}", self.terminator(&block.terminator))?;
        }
        writeln!(f, "}}")
    }

    fn values(&self, values: &[Value]) -> String {
        values
            .iter()
            .map(|value| self.value(*value))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn access(&self, access: &Access) -> String {
        let mut text = String::new();
        if let Some(tag) = access.tag {
            text += &format!(" tag {}", self.tag(tag));
        }
        if let Some(order) = access.order {
            text += &format!(" atomic {}", order.name());
        }
        if access.volatile {
            text += " volatile";
        }
        text
    }

    fn quoted(&self, id: StringId) -> Quoted<'_> {
        Quoted(&self.module[id])
    }

    fn operation(&self, operation: &Operation) -> String {
        match operation {
            Operation::Alloca { size, count, structure } => {
                let structure = structure
                    .map(|id| format!(" %{}", self.struct_name(id)))
                    .unwrap_or_default();
                let count = count
                    .map(|count| format!(" times {}", self.value(count)))
                    .unwrap_or_default();
                format!("alloca {size}{structure}{count}")
            }
            Operation::Load { address, access } => {
                let address = self.value(*address);
                format!("load {} {} {address}{}", access.class, access.size, self.access(access))
            }
            Operation::Store { address, value, access } => {
                let (address, value) = (self.value(*address), self.value(*value));
                format!(
                    "store {} {} {value} to {address}{}",
                    access.class,
                    access.size,
                    self.access(access)
                )
            }
            Operation::Offset {
                base,
                constant,
                indices,
                path,
            } => {
                let mut text = format!("offset {}", self.value(*base));
                text += &if *constant < 0 {
                    format!(" - {}", constant.unsigned_abs())
                } else {
                    format!(" + {constant}")
                };
                for (index, stride) in indices {
                    text += &format!(" + {} x {stride}", self.value(*index));
                }
                if !path.is_empty() {
                    let tags: Vec<String> = path.iter().map(|tag| self.tag(*tag).to_string()).collect();
                    text += &format!(" [{}]", tags.join(", "));
                }
                text
            }
            Operation::Call {
                callee,
                arguments,
                signature,
            } => {
                let callee = match callee {
                    Callee::Direct(symbol) => self.symbol_name(*symbol).to_string(),
                    Callee::Indirect(value) => format!("*{}", self.value(*value)),
                };
                format!(
                    "call {} {callee}({})",
                    self.signature(*signature),
                    self.values(arguments)
                )
            }
            Operation::Assembly {
                text,
                operands,
                clobbers_memory,
                atomic,
            } => {
                let operand = |o: &crate::AssemblyOperand| {
                    let value = self.value(o.value);
                    match o.role {
                        AssemblyRole::Input => format!("in {value}"),
                        AssemblyRole::Reads(size) => format!("reads {size} {value}"),
                        AssemblyRole::Writes(size) => format!("writes {size} {value}"),
                    }
                };
                let operands: Vec<String> = operands.iter().map(operand).collect();
                let mut flags = String::new();
                flags += if *clobbers_memory { " clobbers_memory" } else { "" };
                flags += if *atomic { " atomic" } else { "" };
                format!("asm {} ({}){flags}", self.quoted(*text), operands.join(", "))
            }
            Operation::Phi { incoming } => {
                let incoming: Vec<String> = incoming
                    .iter()
                    .map(|(block, value)| format!("b{} {}", block.number(), self.value(*value)))
                    .collect();
                format!("phi [{}]", incoming.join(", "))
            }
            Operation::Select { condition, yes, no } => format!("select {}", self.values(&[*condition, *yes, *no])),
            Operation::Binary { operator, left, right } => {
                format!("{} {}", operator.name(), self.values(&[*left, *right]))
            }
            Operation::Compare { predicate, left, right } => {
                format!("{} {}", predicate.name(), self.values(&[*left, *right]))
            }
            Operation::Cast { kind, value } => format!("{} {}", kind.name(), self.value(*value)),
            Operation::Extract { from, offset } => format!("extract {} at_offset {offset}", self.value(*from)),
            Operation::Insert { into, value, offset } => {
                format!("insert {} at_offset {offset}", self.values(&[*into, *value]))
            }
            Operation::MemoryCopy {
                to,
                from,
                length,
                overlapping,
            } => {
                let word = if *overlapping { "memmove" } else { "memcpy" };
                format!("{word} {}", self.values(&[*to, *from, *length]))
            }
            Operation::MemoryFill { to, byte, length } => format!("memset {}", self.values(&[*to, *byte, *length])),
            Operation::ReadModifyWrite {
                address,
                operator,
                value,
                access,
            } => {
                let values = self.values(&[*address, *value]);
                format!(
                    "rmw {} {} {} {values}{}",
                    operator.name(),
                    access.class,
                    access.size,
                    self.access(access)
                )
            }
            Operation::CompareExchange {
                address,
                expected,
                new,
                access,
                failure,
            } => {
                let values = self.values(&[*address, *expected, *new]);
                let how = self.access(access);
                format!(
                    "cmpxchg {} {} {values} failure {}{how}",
                    access.class,
                    access.size,
                    failure.name()
                )
            }
            Operation::Fence { order, single_thread } => {
                format!(
                    "fence {}{}",
                    order.name(),
                    if *single_thread { " single_thread" } else { "" }
                )
            }
            Operation::VariableArgument { list } => format!("va_arg {}", self.value(*list)),
            Operation::LandingPad => "landing_pad".to_owned(),
            Operation::Mix { operands } => format!("mix ({})", self.values(operands)),
        }
    }

    fn terminator(&self, terminator: &Terminator) -> String {
        match terminator {
            Terminator::Return(None) => "return".to_owned(),
            Terminator::Return(Some(value)) => format!("return {}", self.value(*value)),
            Terminator::Jump(to) => format!("jump b{}", to.number()),
            Terminator::Branch { condition, yes, no } => {
                format!("branch {}, b{}, b{}", self.value(*condition), yes.number(), no.number())
            }
            Terminator::Switch { value, cases, default } => {
                let value = value.map_or("unknown".to_owned(), |value| self.value(value));
                let cases: Vec<String> = cases
                    .iter()
                    .map(|(case, to)| format!("{case} b{}", to.number()))
                    .collect();
                format!("switch {value}, b{} [{}]", default.number(), cases.join(", "))
            }
            Terminator::Invoke { normal, unwind } => format!("invoke b{}, b{}", normal.number(), unwind.number()),
            Terminator::Resume => "resume".to_owned(),
            Terminator::Unreachable => "unreachable".to_owned(),
        }
    }
}
