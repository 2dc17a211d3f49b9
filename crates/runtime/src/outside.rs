//! Accesses of detecting bodies to memory that has no shadow.
//!
//! Shadow lies beside position-independent programs, their heaps, ordinary mappings and stacks. A program may map
//! memory elsewhere: below 4 GiB on demand (`MAP_32BIT`), at an address of its own, or so much that the usual
//! range is full. Such memory is not watched, and the inlined check of an access to it faults, since its cell's
//! address is none. The fault's handler lets the check find what it compares with: it points the GS base so that
//! the operand lies in a window filled with the running context, has the instruction run as a copy that puts the
//! base back behind it, and counts. The program's own access follows as always; if it faults too (a null
//! pointer), that is the program's crash.
//!
//! Invariant: a check that is let through this way finds no difference, so no thunk sees such an address.
//! Cost: a signal for each access, microseconds.

use crate::check::{self, Use};
use crate::held::Held;
use crate::intercept::crash_handlers;
use crate::shadow::{self, CELLS};
use crate::sys::sys;
use crate::{ending, granules, memory};
use core::arch::asm;
use core::ops::Range;
use libc::{c_int, siginfo_t, ucontext_t};

/// Words of the window. An operand may be this many bytes, less half, away from where we took it to be (EVEX
/// scales short displacements).
const WINDOW: usize = 2048;

#[repr(C, align(64))]
struct Window([u32; WINDOW]);

static FILLED: Held<Window> = Held::new(Window([0; WINDOW]));
/// A page that is written and run.
static COPY: Held<u64> = Held::new(0);
/// The shadow of a range may begin this much before its first cell.
const EDGE: u64 = 0x2000;
/// Where that page may lie, far from the program's mappings.
const COPY_AT: u64 = 0x1200_0000_0000;
/// The program's own handler of memory faults.
static HANDLER: Held<Option<libc::sigaction>> = Held::new(None);

/// Whether faults are looked at first.
pub fn active() -> bool {
    check::purpose() != Use::Nothing
}

/// Lets a check go on that faulted for want of a cell; whether it was one.
pub fn let_through(context: *mut ucontext_t) -> bool {
    if !active() {
        return false;
    }
    // SAFETY: the kernel's context.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let at = registers[libc::REG_RIP as usize] as u64;
    let code = memory::peek(at, 15);
    let Some(access) = decode(&code) else { return false };
    let value = |register: u8| registers[ORDER[register as usize] as usize] as u64;
    let address = access.base.map_or(0, value);
    let address = access.index.map_or(address, |(register, scale)| {
        address.wrapping_add(value(register) << scale)
    });
    let address = address.wrapping_add_signed(access.displacement.into());
    if !shadow::covered(address, 64).is_empty() {
        return false;
    }
    let Some(copy) = copy(&code[..access.len], at + access.len as u64) else {
        return false;
    };
    granules::outside(1);
    let window = FILLED.get();
    if window.0[0] != check::context() {
        window.0 = [check::context(); WINDOW];
    }
    let middle = &raw const window.0[WINDOW / 2] as u64;
    // SAFETY: the instruction is there, since detection runs; the copied code puts the base back.
    unsafe { asm!("wrgsbase {}", in(reg) middle.wrapping_sub(address), options(nostack, nomem, preserves_flags)) };
    registers[libc::REG_RIP as usize] = copy as i64;
    true
}

/// Registers in the order of the instruction set.
const ORDER: [c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Writes the code that runs the instruction, puts the GS base back and goes on at `back`; its address.
fn copy(instruction: &[u8], back: u64) -> Option<u64> {
    let page = COPY.get();
    if *page == 0 {
        let (prot, flags) = (
            libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping of our own.
        let got = unsafe { sys!(libc::SYS_mmap, COPY_AT, 4096usize, prot, flags, -1i32, 0usize) };
        if got < 0 && got > -4096 {
            return None;
        }
        *page = got as u64;
    }
    let mut code = [0x90; 64];
    let (mut len, mut put) = (0, |bytes: &[u8], len: &mut usize| {
        code[*len..*len + bytes.len()].copy_from_slice(bytes);
        *len += bytes.len();
    });
    put(instruction, &mut len);
    put(&[0x48, 0x8d, 0x64, 0x24, 0x80], &mut len); // lea rsp, [rsp - 128]
    put(&[0x50, 0x48, 0xb8], &mut len); // push rax; movabs rax, …
    put(&CELLS.to_le_bytes(), &mut len);
    put(&[0xf3, 0x48, 0x0f, 0xae, 0xd8, 0x58], &mut len); // wrgsbase rax; pop rax
    put(&[0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0], &mut len); // lea rsp, [rsp + 128]
    put(&[0xff, 0x25, 0, 0, 0, 0], &mut len); // jmp [rip]
    put(&back.to_le_bytes(), &mut len);
    // SAFETY: our own page, used by the one thread that runs; returning from the handler serialises.
    unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), *page as *mut u8, len) };
    Some(*page)
}

/// An instruction with an operand relative to GS.
#[derive(Debug, PartialEq, Eq)]
struct Access {
    len: usize,
    base: Option<u8>,
    index: Option<(u8, u8)>,
    displacement: i32,
}

/// Decodes the instruction at the start of `code`, if it has a GS-relative operand that does not depend on where
/// the instruction stands.
fn decode(code: &[u8]) -> Option<Access> {
    let (mut at, mut gs) = (0, false);
    loop {
        match *code.get(at)? {
            0x65 => gs = true,
            0x66 | 0xf2 | 0xf3 => {}
            _ => break,
        }
        at += 1;
    }
    if !gs {
        return None;
    }
    // The extension bits of index and base, and whether an immediate byte, word or double word follows.
    let (mut x, mut b) = (0, 0);
    let immediate;
    match *code.get(at)? {
        0xc5 => {
            immediate = of_second_map(*code.get(at + 2)?);
            at += 3;
        }
        0xc4 => {
            let first = *code.get(at + 1)?;
            (x, b) = (!first >> 3 & 8, !first >> 2 & 8);
            immediate = of_map(first & 0x1f, *code.get(at + 3)?);
            at += 4;
        }
        0x62 => {
            let first = *code.get(at + 1)?;
            (x, b) = (!first >> 3 & 8, !first >> 2 & 8);
            immediate = of_map(first & 7, *code.get(at + 4)?);
            at += 5;
        }
        mut byte => {
            if byte & 0xf0 == 0x40 {
                (x, b) = ((byte & 2) << 2, (byte & 1) << 3);
                at += 1;
                byte = *code.get(at)?;
            }
            at += 1;
            if byte != 0x0f {
                immediate = match byte {
                    0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 | 0x6b => 1,
                    0x81 | 0xc7 | 0x69 => 4,
                    0xf6 | 0xf7 => return None,
                    _ => 0,
                };
            } else {
                let second = *code.get(at)?;
                at += 1;
                if matches!(second, 0x38 | 0x3a) {
                    immediate = usize::from(second == 0x3a);
                    at += 1;
                } else {
                    immediate = of_second_map(second);
                }
            }
        }
    }
    let modrm = *code.get(at)?;
    at += 1;
    let (mode, rm) = (modrm >> 6, modrm & 7);
    let mut access = Access {
        len: 0,
        base: Some(rm | b),
        index: None,
        displacement: 0,
    };
    let mut wide = mode == 2;
    match (mode, rm) {
        (3, _) | (0, 5) => return None,
        (_, 4) => {
            let sib = *code.get(at)?;
            at += 1;
            access.base = Some((sib & 7) | b);
            let index = (sib >> 3 & 7) | x;
            access.index = (index != 4).then_some((index, sib >> 6));
            if mode == 0 && sib & 7 == 5 {
                (access.base, wide) = (None, true);
            }
        }
        _ => {}
    }
    if mode == 1 {
        access.displacement = i32::from(*code.get(at)? as i8);
        at += 1;
    } else if wide {
        access.displacement = i32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?);
        at += 4;
    }
    access.len = at + immediate;
    (access.len <= code.len()).then_some(access)
}

/// Bytes of the immediate of an instruction of the map `0f`.
fn of_second_map(opcode: u8) -> usize {
    usize::from(matches!(
        opcode,
        0x70..=0x73 | 0xc2 | 0xc4..=0xc6 | 0xba | 0xa4 | 0xac
    ))
}

/// Bytes of the immediate of an instruction of a map.
fn of_map(map: u8, opcode: u8) -> usize {
    match map {
        1 => of_second_map(opcode),
        3 => 1,
        _ => 0,
    }
}

/// The program sets or asks for its handler of memory faults; ours stays in front of it.
///
/// # Safety
/// As `sigaction`.
pub unsafe fn set_handler(new: *const libc::sigaction, old: *mut libc::sigaction) {
    let handler = HANDLER.get();
    // SAFETY: the caller's actions; zeroed is the default action.
    unsafe {
        if !old.is_null() {
            *old = handler.unwrap_or(core::mem::zeroed());
        }
        let Some(new) = new.as_ref() else { return };
        if new.sa_sigaction == libc::SIG_DFL {
            *handler = None;
            ending::restore(libc::SIGSEGV);
            return;
        }
        *handler = Some(*new);
        let ours = libc::sigaction {
            sa_sigaction: faulted as *const () as usize,
            sa_flags: (new.sa_flags | libc::SA_SIGINFO) & !libc::SA_RESETHAND,
            ..*new
        };
        crate::real::real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int)(
            libc::SIGSEGV,
            &raw const ours,
            core::ptr::null_mut(),
        );
    }
}

extern "C" fn faulted(signal: c_int, info: *const siginfo_t, context: *mut ucontext_t) {
    // SAFETY: the kernel's arguments.
    if let_through(context) || unsafe { crate::switching::comes_again(signal, info, context.cast()) } {
        return;
    }
    let handler = HANDLER.get();
    match *handler {
        // A fault cannot be ignored.
        Some(action) if action.sa_sigaction != libc::SIG_IGN => {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                *handler = None;
                ending::restore(signal);
            }
            // SAFETY: the program's handler, the kernel's arguments.
            unsafe { crash_handlers::run(action.sa_sigaction, signal, info, context.cast()) };
        }
        _ => ending::crashed(signal, info, context),
    }
}

/// Whether memory that the program mapped would have its cells where something else lies: a check would take that
/// for cells.
pub fn clashes(address: u64, len: u64) -> bool {
    // Below, cells have no address at all.
    let mut start = address.max(CELLS.wrapping_neg());
    let end = address.saturating_add(len);
    if !active() {
        return false;
    }
    for range in shadow::RANGES.into_iter().chain(core::iter::once(end..end)) {
        // The cells of the last bytes before a range are those of its first ones.
        let cells = shadow::cell(start) as u64..(shadow::cell(range.start.min(end)) as u64).saturating_sub(EDGE);
        let clash = |mapping: &Range<u64>| mapping.start < cells.end && cells.start < mapping.end;
        if start < range.start.min(end) && memory::any_mapping(clash) {
            return true;
        }
        start = start.max(range.end);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(code: &[u8]) -> (Option<u8>, Option<(u8, u8)>, i32) {
        let mut longer = code.to_vec();
        longer.extend([0x90; 15]);
        let access = decode(&longer[..15]).expect("a GS-relative access");
        assert_eq!(access.len, code.len());
        (access.base, access.index, access.displacement)
    }

    #[test]
    fn loads_and_compares() {
        assert_eq!(operand(&[0x65, 0x8b, 0x00]), (Some(0), None, 0)); // mov eax, gs:[rax]
        assert_eq!(operand(&[0x65, 0x41, 0x8b, 0x46, 0x08]), (Some(14), None, 8)); // mov eax, gs:[r14 + 8]
        assert_eq!(operand(&[0x65, 0x4c, 0x3b, 0x5f, 0x08]), (Some(7), None, 8)); // cmp r11, gs:[rdi + 8]
        assert_eq!(operand(&[0x65, 0x83, 0x38, 0x05]), (Some(0), None, 0)); // cmp dword gs:[rax], 5
        assert_eq!(
            operand(&[0x65, 0x42, 0x33, 0x54, 0xa3, 0x04]),
            (Some(3), Some((12, 2)), 4)
        ); // xor edx, gs:[rbx+r12*4+4]
    }

    #[test]
    fn vectors() {
        assert_eq!(operand(&[0x65, 0xc5, 0xfa, 0x6f, 0x43, 0x30]), (Some(3), None, 0x30)); // vmovdqu xmm0, gs:[rbx+48]
        assert_eq!(operand(&[0x65, 0xf3, 0x0f, 0x6f, 0x40, 0x10]), (Some(0), None, 0x10)); // movdqu xmm0, gs:[rax+16]
        assert_eq!(operand(&[0x65, 0xc4, 0xc1, 0x79, 0xef, 0x0e]), (Some(14), None, 0)); // vpxor xmm1, xmm0, gs:[r14]
    }

    #[test]
    fn others_are_refused() {
        assert_eq!(decode(&[0x8b, 0x00, 0x90]), None);
        assert_eq!(decode(&[0x65, 0x8b, 0x05, 0, 0, 0, 0]), None);
        assert_eq!(decode(&[0x65, 0x8b]), None);
        assert_eq!(decode(&[]), None);
    }
}
