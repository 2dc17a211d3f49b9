//! Inline assembly: which operands it takes, which memory it reads and writes.
//!
//! Constraints are those of LLVM: outputs first (`=r`, or `=*m` for memory, which takes an argument), then inputs
//! (`r`, `*m`), then clobbers (`~{memory}`) and labels (`!i`).

use crate::function::Body;
use crate::llvm::*;
use crate::module::Lowering;
use crate::preparation::attribute;
use deadheat_ir::{AssemblyOperand, AssemblyRole, Operation};

/// What a constraint says of the argument that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Input,
    Reads,
    Writes,
}

/// The arguments that constraints take, in order, and whether memory is clobbered.
fn constraints(text: &str) -> (Vec<Taken>, bool) {
    let mut taken = Vec::new();
    let mut clobbers_memory = false;
    for constraint in text.split(',').filter(|constraint| !constraint.is_empty()) {
        if let Some(clobber) = constraint.strip_prefix('~') {
            clobbers_memory |= clobber == "{memory}";
        } else if constraint.starts_with('!') {
            // A label: no argument.
        } else if let Some(output) = constraint.strip_prefix('=') {
            if output.trim_start_matches('&').starts_with('*') {
                taken.push(Taken::Writes);
            }
        } else if constraint.starts_with('*') {
            taken.push(Taken::Reads);
        } else {
            taken.push(Taken::Input);
        }
    }
    (taken, clobbers_memory)
}

/// Does the text lock the bus? `xchg` with memory does by itself.
fn is_atomic(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let exchanges = ["xchg", "xchgb", "xchgw", "xchgl", "xchgq"];
    words
        .into_iter()
        .any(|word| word == "lock" || exchanges.contains(&word))
}

impl Lowering {
    /// Lowers a call of inline assembly.
    pub fn assembly(&mut self, body: &Body, instruction: Value, assembly: Value) -> Operation {
        let (mut text_length, mut constraint_length) = (0, 0);
        let (start, told) = llvm!((
            LLVMGetInlineAsmAsmString(assembly, &mut text_length),
            LLVMGetInlineAsmConstraintString(assembly, &mut constraint_length)
        ));
        let (code, told) = (text(start, text_length), text(told, constraint_length));
        let (taken, clobbers_memory) = constraints(&told);
        let count = llvm!(LLVMGetNumArgOperands(instruction));
        let mut operands = Vec::new();
        for n in 0..count {
            let value = self.value(body, operand(instruction, n));
            let role = match taken.get(n as usize) {
                Some(Taken::Reads) => AssemblyRole::Reads(self.element_size(instruction, n)),
                Some(Taken::Writes) => AssemblyRole::Writes(self.element_size(instruction, n)),
                Some(Taken::Input) | None => AssemblyRole::Input,
            };
            operands.push(AssemblyOperand { value, role });
        }
        let atomic = is_atomic(&code);
        let text = self.builder.string(&code);
        Operation::Assembly {
            text,
            operands: operands.into(),
            clobbers_memory,
            atomic,
        }
    }

    /// Bytes of the memory that argument `n` is the address of; 0 if the call does not say.
    fn element_size(&self, instruction: Value, n: u32) -> u32 {
        let kind = attribute("elementtype");
        // Arguments are attributes' indices from 1.
        let told = llvm!(LLVMGetCallSiteEnumAttribute(instruction, n + 1, kind));
        if told.is_null() {
            return 0;
        }
        self.types
            .store_size(llvm!(LLVMGetTypeAttributeValue(told)))
            .try_into()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_take_arguments_in_order() {
        let told = "=*m,=&r,=&*m,er,*m,~{memory},~{dirflag},!i";
        assert_eq!(
            constraints(told),
            (vec![Taken::Writes, Taken::Writes, Taken::Input, Taken::Reads], true)
        );
        assert_eq!(constraints(""), (vec![], false));
    }

    #[test]
    fn atomic_by_prefix_or_exchange() {
        assert!(is_atomic("661:\n\tlock; incl $0"));
        assert!(is_atomic(
            ".pushsection .smp_locks,\"a\"\n.popsection\n671:\n\tlock cmpxchgq $2,$1"
        ));
        assert!(is_atomic("xchgq ${0:q}, $1"));
        assert!(!is_atomic("cmpxchgl $2, $1"));
        assert!(!is_atomic("mov $0, %gs:clock"));
    }
}
