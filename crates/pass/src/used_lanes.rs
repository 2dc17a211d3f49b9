//! Vector loads of which only some lanes are wanted.
//!
//! A loop over every other element, or over one member of each structure, is vectorised by loads of all the memory
//! between and a shuffle, which may come after arithmetic on all lanes. The program reads the wanted elements alone;
//! the rest may belong to another thread.

use crate::ir::{self, Ir, Value, constant, llvm, operand};
use crate::shim;
use llvm_sys::core::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

/// How many uses are followed; then all lanes count as wanted.
const MOST_USES: u32 = 256;

/// The parts that a load reads for the program, as offset and size in bytes, if these are not all of it.
pub fn of_load(ir: &Ir, load: Value) -> Option<Vec<(u64, u64)>> {
    let class = ir::type_of(load);
    if llvm!(LLVMGetTypeKind(class)) != LLVMTypeKind::LLVMVectorTypeKind {
        return None;
    }
    let (count, size) = llvm!((
        LLVMGetVectorSize(class) as usize,
        ir.store_size(LLVMGetElementType(class))
    ));
    if ir.store_size(class) != size * count as u64 {
        return None;
    }
    let used = wanted(load, count, &mut MOST_USES.clone())?;
    if used.iter().all(|lane| *lane) {
        return None;
    }
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for (lane, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        let at = lane as u64 * size;
        match parts.last_mut() {
            Some((start, len)) if *start + *len == at => *len += size,
            _ => parts.push((at, size)),
        }
    }
    Some(parts)
}

/// The lanes of a vector that anything asks for; none if that is not known.
fn wanted(vector: Value, count: usize, uses: &mut u32) -> Option<Vec<bool>> {
    let mut used = vec![false; count];
    let mut next = llvm!(LLVMGetFirstUse(vector));
    while !next.is_null() {
        *uses = uses.checked_sub(1)?;
        let user = llvm!(LLVMGetUser(next));
        match ir::opcode(user) {
            LLVMOpcode::LLVMShuffleVector => {
                let lanes = llvm!(LLVMGetNumMaskElements(user)) as usize;
                let result = wanted(user, lanes, uses).unwrap_or_else(|| vec![true; lanes]);
                for (n, _) in result.iter().enumerate().filter(|(_, used)| **used) {
                    let lane = usize::try_from(llvm!(LLVMGetMaskValue(user, n as u32)));
                    let Ok(lane) = lane else { continue };
                    if lane < 2 * count && operand(user, u32::from(lane >= count)) == vector {
                        used[lane % count] = true;
                    }
                }
            }
            LLVMOpcode::LLVMExtractElement => {
                let lane = constant(operand(user, 1)).and_then(|lane| usize::try_from(lane).ok());
                *used.get_mut(lane?)? = true;
            }
            _ if llvm!(shim::dh_is_lanewise(user)) != 0 => {
                let result = wanted(user, count, uses)?;
                used.iter_mut().zip(result).for_each(|(used, more)| *used |= more);
            }
            _ => return None,
        }
        next = llvm!(LLVMGetNextUse(next));
    }
    Some(used)
}
