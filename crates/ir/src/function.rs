//! Function bodies.

use crate::ids::{BlockId, LocalId, LocationId, SymbolId};
use crate::instruction::{Instruction, Terminator};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A body, in SSA form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Whose body it is.
    pub symbol: SymbolId,
    /// The unit that it comes from, of [`Module::units`](crate::Module::units).
    pub unit: u32,
    /// Number of parameters.
    pub parameters: u32,
    /// Where it stands in the source.
    pub location: Option<LocationId>,
    /// All instructions, block after block.
    pub instructions: Vec<Instruction>,
    /// The blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Its first instruction's index.
    pub start: u32,
    /// The index after its last instruction's.
    pub end: u32,
    /// Where it goes on.
    pub terminator: Terminator,
    /// Where the terminator stands in the source.
    pub location: Option<LocationId>,
}

impl Block {
    /// Indices of its instructions.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Function {
    /// Number of locals: parameters and instructions.
    pub fn locals(&self) -> usize {
        self.parameters as usize + self.instructions.len()
    }

    /// The local that an instruction defines.
    pub fn local_of(&self, instruction: usize) -> LocalId {
        LocalId::new(self.parameters + instruction as u32)
    }

    /// The index of the instruction that defines a local; none for parameters.
    pub fn instruction_of(&self, local: LocalId) -> Option<usize> {
        local.index().checked_sub(self.parameters as usize)
    }

    /// The instruction that defines a local; none for parameters.
    pub fn definition(&self, local: LocalId) -> Option<&Instruction> {
        self.instructions.get(self.instruction_of(local)?)
    }

    /// The blocks with their ids.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        self.blocks
            .iter()
            .enumerate()
            .map(|(n, block)| (BlockId::new(n as u32), block))
    }

    /// The instructions of a block, each with its local.
    pub fn block_instructions<'a>(&'a self, block: &Block) -> impl Iterator<Item = (LocalId, &'a Instruction)> + 'a {
        block.range().map(|n| (self.local_of(n), &self.instructions[n]))
    }

    /// Predecessors of each block, in order; one that branches here twice comes twice.
    pub fn predecessors(&self) -> Vec<Vec<BlockId>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for (id, block) in self.blocks() {
            for to in block.terminator.successors() {
                predecessors[to.index()].push(id);
            }
        }
        predecessors
    }
}
