//! Code of a stub: what a patched NOP jumps to.
//!
//! A stub computes the operand's address with the registers of the program still in place, skips the
//! red zone, and calls a register-preserving handler with (address, length, row). The compiler was
//! told that the NOP clobbers the flags, so they are free. A back edge only counts down, and calls
//! when the count is below zero.
//! Invariant: the stub leaves every register and the stack as it found them.

use super::decode::{Nop, Operand, RDI, RSI, RSP};
use alloc::vec::Vec;

/// Bytes below the stack pointer that belong to the function.
const RED_ZONE: i32 = 128;
/// Most bytes that a stub takes.
pub const MAX_SIZE: usize = 96;

/// What a stub hands to its handler.
pub struct Call {
    /// Address of the pointer to the handler, within reach of the stub.
    pub handler: u64,
    /// Third argument.
    pub row: u64,
}

/// Code being written at a known address.
struct Code {
    at: u64,
    bytes: Vec<u8>,
}

impl Code {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A 32-bit distance from the end of the instruction, `tail` bytes after it, to `target`.
    fn relative(&mut self, target: u64, tail: u64) -> Option<()> {
        let end = self.at + self.bytes.len() as u64 + 4 + tail;
        let distance = i32::try_from(target.wrapping_sub(end) as i64).ok()?;
        self.put(&distance.to_le_bytes());
        Some(())
    }

    fn jump(&mut self, target: u64) -> Option<()> {
        self.put(&[0xe9]);
        self.relative(target, 0)
    }

    /// `lea register, operand`, where the stack pointer moved down by `shift` bytes since the NOP.
    fn lea(&mut self, register: u8, operand: &Operand, next: u64, shift: i32) -> Option<()> {
        if operand.rip {
            // movabs: the target is fixed, and may be out of reach from here.
            let target = next.wrapping_add_signed(i64::from(operand.displacement));
            self.put(&[0x48 | register >> 3, 0xb8 | register & 7]);
            self.put(&target.to_le_bytes());
            return Some(());
        }
        let mut displacement = operand.displacement;
        if operand.base == Some(RSP) {
            displacement = displacement.checked_add(shift)?;
        }
        let (index, scale) = operand.index.unwrap_or((RSP, 0));
        let base = operand.base.unwrap_or(5);
        if operand.short {
            self.put(&[0x67]);
        }
        let mode = if operand.base.is_some() { 0x80 } else { 0 };
        self.put(&[
            0x48 | (register >> 3) << 2 | (index >> 3) << 1 | if operand.base.is_some() { base >> 3 } else { 0 },
            0x8d,
            mode | (register & 7) << 3 | 4,
            scale << 6 | (index & 7) << 3 | base & 7,
        ]);
        self.put(&displacement.to_le_bytes());
        Some(())
    }

    fn call(&mut self, call: &Call) -> Option<()> {
        self.put(&[0x48, 0xba]); // movabs rdx, row
        self.put(&call.row.to_le_bytes());
        self.put(&[0xff, 0x15]); // call [rip + handler]
        self.relative(call.handler, 0)
    }
}

/// The stub at address `at` for the NOP at `site` (and the length's NOP right after it), which calls
/// the handler and goes on behind the NOPs. `None` if something is out of reach.
pub fn access(at: u64, site: u64, nop: &Nop, length: Option<&Nop>, call: &Call) -> Option<Vec<u8>> {
    let mut code = Code {
        at,
        bytes: Vec::with_capacity(MAX_SIZE),
    };
    let next = site + nop.len as u64;
    let back = next + length.map_or(0, |n| n.len as u64);
    code.put(&[0x48, 0x8d, 0x64, 0x24, 0x80]); // lea rsp, [rsp - 128]
    code.put(&[0x57]); // push rdi
    code.lea(RDI, &nop.operand, next, RED_ZONE + 8)?;
    if nop.operand.fs {
        code.put(&[0x64, 0x48, 0x03, 0x3c, 0x25, 0, 0, 0, 0]); // add rdi, fs:[0]
    }
    code.put(&[0x56]); // push rsi
    match length {
        Some(n) if n.operand.base == Some(RDI) => code.put(&[0x48, 0x8b, 0x74, 0x24, 8]), // mov rsi, [rsp + 8]
        Some(n) => code.lea(RSI, &n.operand, back, RED_ZONE + 16)?,
        None => {}
    }
    code.put(&[0x52]); // push rdx
    code.call(call)?;
    code.put(&[0x5a, 0x5e, 0x5f]); // pop rdx, rsi, rdi
    code.put(&[0x48, 0x8d, 0xa4, 0x24]); // lea rsp, [rsp + 128]
    code.put(&RED_ZONE.to_le_bytes());
    code.jump(back)?;
    Some(code.bytes)
}

/// The stub of a back edge: counts `budget` down (a signed 64-bit word within reach) and calls when
/// it is below zero.
pub fn back_edge(at: u64, site: u64, nop: &Nop, budget: u64, call: &Call) -> Option<Vec<u8>> {
    let mut code = Code {
        at,
        bytes: Vec::with_capacity(MAX_SIZE),
    };
    let back = site + nop.len as u64;
    code.put(&[0x48, 0x83, 0x2d]); // sub qword [rip + budget], 1
    code.relative(budget, 1)?;
    code.put(&[1]);
    code.put(&[0x78, 5]); // js over the jump
    code.jump(back)?;
    code.put(&[0x48, 0x8d, 0x64, 0x24, 0x80]);
    code.put(&[0x57, 0x56, 0x52]);
    code.call(call)?;
    code.put(&[0x5a, 0x5e, 0x5f]);
    code.put(&[0x48, 0x8d, 0xa4, 0x24]);
    code.put(&RED_ZONE.to_le_bytes());
    code.jump(back)?;
    Some(code.bytes)
}

/// `jmp target` at `at`, five bytes; `None` if out of reach.
pub fn jump(at: u64, target: u64) -> Option<[u8; 5]> {
    let mut code = Code { at, bytes: Vec::new() };
    code.jump(target)?;
    code.bytes.try_into().ok()
}
