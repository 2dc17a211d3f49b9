//! Code of a stub: what a patched NOP jumps to.
//!
//! A stub computes the operand's address with the registers of the program still in place, skips the
//! red zone, and calls a register-preserving handler with (address, length, row). The compiler was
//! told that the NOP clobbers the flags, so they are free. A back edge only counts down, in place, and comes
//! here when the count is below zero. A target that may be passed without a decision is noted in the journal
//! ([`crate::journal`]) right here where the journal is within reach; that takes some twenty instructions.
//! Invariant: the stub leaves every register and the stack as it found them.

use super::decode::{Nop, Operand, RDI, RSI, RSP};
use alloc::vec::Vec;
use deadheat_wire::object::BACK_EDGE;

/// Bytes below the stack pointer that belong to the function.
const RED_ZONE: i32 = 128;
/// Most bytes that a stub takes.
pub const MAX_SIZE: usize = 192;

/// Addresses of the journal's words.
pub struct Journal {
    /// See [`crate::journal::Journal`].
    pub alone: u64,
    /// The same.
    pub beside: u64,
    /// The same.
    pub beyond: u64,
    /// The same.
    pub before: u64,
}

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
/// the handler and goes on behind the NOPs; with a journal, only if the target cannot be passed. `None` if
/// something is out of reach.
pub fn access(
    at: u64,
    site: u64,
    nop: &Nop,
    length: Option<&Nop>,
    call: &Call,
    journal: Option<&Journal>,
) -> Option<Vec<u8>> {
    let mut code = Code {
        at,
        bytes: Vec::with_capacity(MAX_SIZE),
    };
    let next = site + nop.len as u64;
    let back = next + length.map_or(0, |n| n.len as u64);
    if let Some(journal) = journal {
        code.count_down(journal.alone)?;
        let taken = code.branch(0x78); // js
        code.jump(back)?;
        code.land(taken)?;
    }
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
    if let Some(journal) = journal {
        code.pass(journal, back)?;
    }
    code.put(&[0x52]); // push rdx
    code.call(call)?;
    code.put(&[0x5a, 0x5e, 0x5f]); // pop rdx, rsi, rdi
    code.put(&[0x48, 0x8d, 0xa4, 0x24]); // lea rsp, [rsp + 128]
    code.put(&RED_ZONE.to_le_bytes());
    code.jump(back)?;
    Some(code.bytes)
}

impl Code {
    /// Counts a signed 64-bit word within reach down.
    fn count_down(&mut self, word: u64) -> Option<()> {
        self.put(&[0x48, 0x83, 0x2d]); // sub qword [rip + word], 1
        self.relative(word, 1)?;
        self.put(&[1]);
        Some(())
    }

    /// Counts the access at `rdi` and goes on at `back`, if it meets nobody.
    fn pass(&mut self, journal: &Journal, back: u64) -> Option<()> {
        self.put(&[0x48, 0x3b, 0x3d]); // cmp rdi, [rip + beyond]
        self.relative(journal.beyond, 0)?;
        let meets_nobody = self.branch(0x73); // jae
        self.put(&[0x48, 0x3b, 0x3d]); // cmp rdi, [rip + before]
        self.relative(journal.before, 0)?;
        let meets = self.branch(0x77); // ja
        self.land(meets_nobody)?;
        self.count_down(journal.beside)?;
        let no_more = self.branch(0x78); // js
        self.put(&[0x5e, 0x5f]); // pop rsi, rdi
        self.put(&[0x48, 0x8d, 0xa4, 0x24]); // lea rsp, [rsp + 128]
        self.put(&RED_ZONE.to_le_bytes());
        self.jump(back)?;
        self.land(meets)?;
        self.land(no_more)
    }

    /// A short jump to a place further on; gives its number for [`land`](Self::land).
    fn branch(&mut self, opcode: u8) -> usize {
        self.put(&[opcode, 0]);
        self.bytes.len()
    }

    /// The short jump leads here.
    fn land(&mut self, from: usize) -> Option<()> {
        self.bytes[from - 1] = u8::try_from(self.bytes.len() - from).ok().filter(|by| *by < 128)?;
        Some(())
    }
}

/// What is written over a back edge's NOPs: counts `budget` down (a signed 64-bit word within reach) and jumps to its
/// stub at `at` when it is below zero.
pub fn back_edge(site: u64, at: u64, budget: u64) -> Option<Vec<u8>> {
    let mut code = Code {
        at: site,
        bytes: Vec::with_capacity(BACK_EDGE.len()),
    };
    code.count_down(budget)?;
    code.put(&[0x0f, 0x88]); // js
    code.relative(at, 0)?;
    Some(code.bytes)
}

/// The stub at address `at` of a site without operand, which calls the handler and goes on at `back`.
pub fn bare(at: u64, back: u64, call: &Call) -> Option<Vec<u8>> {
    let mut code = Code {
        at,
        bytes: Vec::with_capacity(MAX_SIZE),
    };
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
pub fn jump(at: u64, target: u64) -> Option<Vec<u8>> {
    let mut code = Code {
        at,
        bytes: Vec::with_capacity(5),
    };
    code.jump(target)?;
    Some(code.bytes)
}
