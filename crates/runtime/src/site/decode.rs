//! The NOP of a site and the operand that it carries.
//!
//! The pass emits `{disp32} nopl mem` (`0f 1f /0`) with whatever prefixes the operand needs; the
//! addressing mode is what the compiler chose for the access itself. Decoding it gives everything a
//! stub needs to compute the address: base, index, scale, displacement, RIP-relative, FS-relative.
//! Invariant: only what is decoded completely is ever patched; anything else is refused (`None`).

/// Number of the stack pointer as an operand's base.
pub const RSP: u8 = 4;
/// Number of `rsi`.
pub const RSI: u8 = 6;
/// Number of `rdi`.
pub const RDI: u8 = 7;

/// A memory operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operand {
    /// Base register.
    pub base: Option<u8>,
    /// Index register and log2 of its scale.
    pub index: Option<(u8, u8)>,
    /// Displacement.
    pub displacement: i32,
    /// Whether the displacement counts from the end of the instruction.
    pub rip: bool,
    /// Whether the thread pointer is added.
    pub fs: bool,
    /// Whether the address is cut to 32 bits.
    pub short: bool,
}

/// A decoded NOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nop {
    /// Bytes of the instruction.
    pub len: usize,
    /// Its operand.
    pub operand: Operand,
}

/// Longest instruction.
pub const MAX_LEN: usize = 15;

/// Decodes the NOP at the start of `code`; `None` if it is something else.
pub fn decode(code: &[u8]) -> Option<Nop> {
    let mut at = 0;
    let mut operand = Operand::default();
    let mut rex = 0u8;
    loop {
        match *code.get(at)? {
            0x64 => operand.fs = true,
            0x67 => operand.short = true,
            // Segment overrides that mean nothing in 64-bit mode, and the operand size.
            0x2e | 0x36 | 0x3e | 0x26 | 0x66 => {}
            byte @ 0x40..=0x4f => {
                rex = byte;
                at += 1;
                break;
            }
            _ => break,
        }
        at += 1;
    }
    if *code.get(at)? != 0x0f || *code.get(at + 1)? != 0x1f {
        return None;
    }
    let modrm = *code.get(at + 2)?;
    at += 3;
    let (mode, rm) = (modrm >> 6, modrm & 7);
    if mode == 3 || modrm >> 3 & 7 != 0 {
        return None;
    }
    let mut no_base = false;
    if rm == 4 {
        let sib = *code.get(at)?;
        at += 1;
        let index = (sib >> 3 & 7) | (rex & 2) << 2;
        if index != RSP {
            operand.index = Some((index, sib >> 6));
        }
        no_base = mode == 0 && sib & 7 == 5;
        if !no_base {
            operand.base = Some((sib & 7) | (rex & 1) << 3);
        }
    } else if mode == 0 && rm == 5 {
        operand.rip = true;
    } else {
        operand.base = Some(rm | (rex & 1) << 3);
    }
    if mode == 1 {
        operand.displacement = i32::from(*code.get(at)? as i8);
        at += 1;
    } else if mode == 2 || operand.rip || no_base {
        operand.displacement = i32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?);
        at += 4;
    }
    Some(Nop { len: at, operand })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(code: &[u8]) -> Operand {
        let nop = decode(code).expect("a NOP");
        assert_eq!(nop.len, code.len());
        nop.operand
    }

    #[test]
    fn plain_base() {
        // {disp32} nopl (%rdi)
        let o = operand(&[0x0f, 0x1f, 0x87, 0, 0, 0, 0]);
        assert_eq!(
            o,
            Operand {
                base: Some(RDI),
                ..Operand::default()
            }
        );
    }

    #[test]
    fn extended_base_and_index() {
        // {disp32} nopl 0x10(%r13,%r12,8)
        let o = operand(&[0x43, 0x0f, 0x1f, 0x84, 0xe5, 0x10, 0, 0, 0]);
        assert_eq!(
            o,
            Operand {
                base: Some(13),
                index: Some((12, 3)),
                displacement: 16,
                ..Operand::default()
            }
        );
    }

    #[test]
    fn rip_relative() {
        let o = operand(&[0x0f, 0x1f, 0x05, 0xfc, 0xff, 0xff, 0xff]);
        assert_eq!(
            o,
            Operand {
                rip: true,
                displacement: -4,
                ..Operand::default()
            }
        );
    }

    #[test]
    fn stack_pointer() {
        let o = operand(&[0x0f, 0x1f, 0x84, 0x24, 8, 0, 0, 0]);
        assert_eq!(
            o,
            Operand {
                base: Some(RSP),
                displacement: 8,
                ..Operand::default()
            }
        );
    }

    #[test]
    fn thread_local() {
        // nopl %fs:-8
        let o = operand(&[0x64, 0x0f, 0x1f, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff]);
        assert_eq!(
            o,
            Operand {
                fs: true,
                displacement: -8,
                ..Operand::default()
            }
        );
    }

    #[test]
    fn five_bytes() {
        assert_eq!(decode(&[0x0f, 0x1f, 0x44, 0, 0]).map(|n| n.len), Some(5));
    }

    #[test]
    fn refuses_other_code() {
        assert_eq!(decode(&[0x90]), None);
        assert_eq!(decode(&[0x65, 0x0f, 0x1f, 0x00]), None);
        assert_eq!(decode(&[0x0f, 0x1f]), None);
        assert_eq!(decode(&[0x0f, 0x1f, 0xc0]), None);
    }
}
