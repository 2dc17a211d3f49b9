//! The register-preserving way from a stub into the runtime.
//!
//! A stub calls `dh_site_entry` with address, length and site in `rdi`, `rsi`, `rdx` (saved by the
//! stub). It saves every other register that a call may change, the SSE registers included: the
//! runtime is compiled for baseline x86-64 and calls nothing of libc from here, so the upper halves of
//! vector registers stay as they are. The frame pointer is the program's, and its stack pointer lies 224 bytes
//! above the last register saved: the stub's share and the red zone, our return address, eight words.
//!
//! Its unwind information leads a debugger straight to the watched function, as the stub has none: the
//! canonical frame address is the program's stack pointer at the site, which lies above what the stub
//! pushed and the red zone, and the return address is one behind the start of the site's NOP, since
//! debuggers look at the byte before a return address.

use super::Site;
use crate::journal;
use crate::thread::Frame;
use core::arch::global_asm;
use core::mem::offset_of;

global_asm!(
    ".pushsection .text.dh_site_entry,\"ax\",@progbits",
    ".globl dh_site_entry",
    ".hidden dh_site_entry",
    ".type dh_site_entry,@function",
    ".balign 16",
    "dh_site_entry:",
    ".cfi_startproc",
    ".cfi_def_cfa rsp, 160",
    // A target that may be passed without a decision, whose stub does not reach the journal.
    "cmp byte ptr [rdx + {passes}], 0",
    "je 2f",
    "sub qword ptr [rip + {journal} + {alone}], 1",
    "jns 3f",
    "cmp rdi, [rip + {journal} + {beyond}]",
    "jae 4f",
    "cmp rdi, [rip + {journal} + {before}]",
    "ja 2f",
    "4:",
    "sub qword ptr [rip + {journal} + {beside}], 1",
    "js 2f",
    "3:",
    "ret",
    "2:",
    // Where other fast ways come to when they are not enough: registers and stack as at the start.
    ".globl dh_site_slow",
    ".hidden dh_site_slow",
    "dh_site_slow:",
    ".cfi_undefined rip",
    ".cfi_offset rdi, -136",
    ".cfi_offset rsi, -144",
    ".cfi_offset rdx, -152",
    "push [rdx + {nop}]",
    ".cfi_adjust_cfa_offset 8",
    "inc qword ptr [rsp]",
    ".cfi_offset rip, -168",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset rax, -176",
    "push rcx",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset rcx, -184",
    "push r8",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset r8, -192",
    "push r9",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset r9, -200",
    "push r10",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset r10, -208",
    "push r11",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset r11, -216",
    "push rbx",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset rbx, -224",
    "mov rbx, rsp",
    ".cfi_def_cfa_register rbx",
    "mov rcx, rbp",
    "lea r8, [rsp + 224]",
    "sub rsp, 256",
    "and rsp, -16",
    "movaps [rsp], xmm0",
    "movaps [rsp + 16], xmm1",
    "movaps [rsp + 32], xmm2",
    "movaps [rsp + 48], xmm3",
    "movaps [rsp + 64], xmm4",
    "movaps [rsp + 80], xmm5",
    "movaps [rsp + 96], xmm6",
    "movaps [rsp + 112], xmm7",
    "movaps [rsp + 128], xmm8",
    "movaps [rsp + 144], xmm9",
    "movaps [rsp + 160], xmm10",
    "movaps [rsp + 176], xmm11",
    "movaps [rsp + 192], xmm12",
    "movaps [rsp + 208], xmm13",
    "movaps [rsp + 224], xmm14",
    "movaps [rsp + 240], xmm15",
    "call {handler}",
    "movaps xmm0, [rsp]",
    "movaps xmm1, [rsp + 16]",
    "movaps xmm2, [rsp + 32]",
    "movaps xmm3, [rsp + 48]",
    "movaps xmm4, [rsp + 64]",
    "movaps xmm5, [rsp + 80]",
    "movaps xmm6, [rsp + 96]",
    "movaps xmm7, [rsp + 112]",
    "movaps xmm8, [rsp + 128]",
    "movaps xmm9, [rsp + 144]",
    "movaps xmm10, [rsp + 160]",
    "movaps xmm11, [rsp + 176]",
    "movaps xmm12, [rsp + 192]",
    "movaps xmm13, [rsp + 208]",
    "movaps xmm14, [rsp + 224]",
    "movaps xmm15, [rsp + 240]",
    "mov rsp, rbx",
    ".cfi_def_cfa_register rsp",
    "pop rbx",
    ".cfi_adjust_cfa_offset -8",
    ".cfi_restore rbx",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rax",
    ".cfi_adjust_cfa_offset -48",
    "lea rsp, [rsp + 8]",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".size dh_site_entry, . - dh_site_entry",
    ".popsection",
    handler = sym dispatch,
    nop = const offset_of!(Site, nop),
    passes = const offset_of!(Site, passes),
    journal = sym journal::JOURNAL,
    beyond = const journal::BEYOND_AT,
    before = const journal::BEFORE_AT,
    alone = const journal::ALONE_AT,
    beside = const journal::BESIDE_AT,
);

unsafe extern "C" {
    fn dh_site_entry();
}

/// Address of the entry that stubs call.
pub fn entry() -> u64 {
    dh_site_entry as *const () as u64
}

/// Called for each execution of a site that is switched on.
///
/// # Safety
/// `site` points to a [`Site`] that lives as long as the process; called by `dh_site_entry` only.
unsafe extern "C" fn dispatch(address: u64, len: u64, site: *const Site, frame: u64, stack: u64) {
    // SAFETY: stubs are made with the address of a leaked `Site`.
    let site = unsafe { &*site };
    let at = Frame {
        pc: site.nop,
        frame,
        stack,
    };
    crate::targets::at_site(site, address, len, at);
}
