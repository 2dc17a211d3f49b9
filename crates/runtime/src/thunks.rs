//! The thunks that detecting bodies call when a check finds another context in the cell.
//!
//! `preserve_all`: every register but `r11` is kept. A thunk first looks the granule's state up in the
//! running context's known steps ([`memo`]), without a call; in run 2 it looks whether the same check was
//! made in the same moment; else it saves what a call may change, the SSE registers included, and asks
//! [`check::slow`].

use crate::{check, memo, shadow, statements};
use core::arch::global_asm;

/// `label`: calls `target` with `rdi` and `rsi` as they are, `r11d` and the program's frame pointer as third
/// and fourth argument, and keeps every register but `r11`.
macro_rules! keeping {
    ($label:literal, $target:path) => {
        global_asm!(
            concat!(".pushsection .text.", $label, ",\"ax\",@progbits"),
            ".balign 16",
            concat!(".globl ", $label),
            concat!(".type ", $label, ",@function"),
            concat!($label, ":"),
            "push rbp",
            "mov rbp, rsp",
            "push rax",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "push r10",
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
            "mov edx, r11d",
            "mov rcx, [rbp]",
            "call {target}",
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
            "lea rsp, [rbp - 64]",
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "pop rbp",
            "ret",
            ".popsection",
            target = sym $target,
        );
    };
}

keeping!("dh_check_call", check::slow);
keeping!("dh_back_edge", check::back_edge);

// Run 2: a check already made in this moment of the thread adds nothing. Slot by the high bits of
// 0x9e3779b1 (address ^ descriptor), mod 2^32.
global_asm!(
    ".pushsection .text.dh_check_slow,\"ax\",@progbits",
    ".balign 32",
    "dh_check_slow:",
    "cmp dword ptr [rip + {moment}], 0",
    "je dh_check_call",
    "push rax",
    "push rcx",
    "mov eax, edi",
    "xor eax, esi",
    "imul eax, eax, {mix}",
    "shr eax, {shift}",
    "shl eax, 4",
    "lea rcx, [rip + {seen}]",
    "add rcx, rax",
    "cmp rdi, [rcx]",
    "jne 2f",
    "cmp esi, [rcx + 8]",
    "jne 2f",
    "mov eax, [rip + {moment}]",
    "cmp eax, [rcx + 12]",
    "jne 2f",
    "pop rcx",
    "pop rax",
    "ret",
    "2:",
    "mov [rcx], rdi",
    "mov [rcx + 8], esi",
    "mov eax, [rip + {moment}]",
    "mov [rcx + 12], eax",
    "pop rcx",
    "pop rax",
    "jmp dh_check_call",
    ".popsection",
    moment = sym statements::MOMENT,
    seen = sym statements::SEEN,
    mix = const statements::MIX as i32,
    shift = const statements::SLOT_SHIFT,
);

/// A thunk: `size` bytes at `rdi`, `write` 0 or 1. Accesses within one granule try the running context's
/// known steps: slot = (5 R + W + 3 set) mod their number, as `memo` computes it.
macro_rules! thunk {
    ($name:literal, $size:literal, $write:literal) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            ".balign 32",
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            "push rax",
            "push rcx",
            "push rdx",
            concat!("lea rax, [rdi + ", $size, " - 1]"),
            "xor rax, rdi",
            "cmp rax, 7",
            "ja 9f",
            "mov rax, rdi",
            "and rax, -8",
            "mov r11, gs:[rax]",
            "shr rax, 6",
            "movabs rcx, {side}",
            "movzx ecx, byte ptr [rcx + rax]",
            "mov rax, r11",
            "shr rax, 32",
            "lea eax, [rax + rax * 4]",
            "add eax, r11d",
            "test ecx, ecx",
            "jnz 3f",
            // No set in these 64 bytes.
            "and eax, {mask}",
            "shl eax, {shift}",
            "add rax, [rip + {current}]",
            concat!("cmp r11, [rax + ", $write, " * {kind}]"),
            "jne 9f",
            // Neither set may be there: both words at once.
            concat!("cmp qword ptr [rax + ", $write, " * {kind} + 16], 0"),
            "jne 9f",
            concat!("mov rcx, [rax + ", $write, " * {kind} + 8]"),
            "mov rax, rdi",
            "and rax, -8",
            "mov gs:[rax], rcx",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "ret",
            // Sets, if the block is not uniform.
            "3:",
            "test ecx, {uniform}",
            "jnz 9f",
            "mov rcx, rdi",
            "shr rcx, 3",
            "movabs rdx, {sets}",
            "lea rcx, [rdx + rcx * 4]",
            "mov edx, [rcx]",
            "lea edx, [rdx + rdx * 2]",
            "add eax, edx",
            "and eax, {mask}",
            "shl eax, {shift}",
            "add rax, [rip + {current}]",
            concat!("cmp r11, [rax + ", $write, " * {kind}]"),
            "jne 9f",
            "mov edx, [rcx]",
            concat!("cmp edx, [rax + ", $write, " * {kind} + 16]"),
            "jne 9f",
            concat!("mov edx, [rax + ", $write, " * {kind} + 20]"),
            "mov [rcx], edx",
            concat!("mov rcx, [rax + ", $write, " * {kind} + 8]"),
            "mov rax, rdi",
            "and rax, -8",
            "mov gs:[rax], rcx",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "ret",
            "9:",
            "pop rdx",
            "pop rcx",
            "pop rax",
            concat!("mov r11d, 2 * ", $size, " + ", $write),
            "jmp dh_check_slow",
            ".popsection",
            current = sym memo::CURRENT,
            side = const shadow::SIDE,
            sets = const shadow::SETS,
            uniform = const shadow::IS_UNIFORM,
            mask = const memo::SLOT_MASK,
            shift = const memo::STEP_SHIFT,
            kind = const memo::KIND_SIZE,
        );
    };
}

thunk!("dh_check_r1", 1, 0);
thunk!("dh_check_r2", 2, 0);
thunk!("dh_check_r4", 4, 0);
thunk!("dh_check_r8", 8, 0);
thunk!("dh_check_w1", 1, 1);
thunk!("dh_check_w2", 2, 1);
thunk!("dh_check_w4", 4, 1);
thunk!("dh_check_w8", 8, 1);

/// A thunk for two whole granules in the same state, without sets.
macro_rules! wide_thunk {
    ($name:literal, $write:literal) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            ".balign 32",
            concat!(".globl ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            "test edi, 7",
            "jne 8f",
            "push rax",
            "push rcx",
            "mov r11, gs:[rdi]",
            "cmp r11, gs:[rdi + 8]",
            "jne 9f",
            "movabs rcx, {side}",
            "mov rax, rdi",
            "shr rax, 6",
            "cmp byte ptr [rcx + rax], 0",
            "jne 9f",
            "lea rax, [rdi + 8]",
            "shr rax, 6",
            "cmp byte ptr [rcx + rax], 0",
            "jne 9f",
            "mov rax, r11",
            "shr rax, 32",
            "lea eax, [rax + rax * 4]",
            "add eax, r11d",
            "and eax, {mask}",
            "shl eax, {shift}",
            "add rax, [rip + {current}]",
            concat!("cmp r11, [rax + ", $write, " * {kind}]"),
            "jne 9f",
            concat!("cmp qword ptr [rax + ", $write, " * {kind} + 16], 0"),
            "jne 9f",
            concat!("mov rcx, [rax + ", $write, " * {kind} + 8]"),
            "mov gs:[rdi], rcx",
            "mov gs:[rdi + 8], rcx",
            "pop rcx",
            "pop rax",
            "ret",
            "9:",
            "pop rcx",
            "pop rax",
            "8:",
            concat!("mov r11d, 32 + ", $write),
            "jmp dh_check_slow",
            ".popsection",
            current = sym memo::CURRENT,
            side = const shadow::SIDE,
            mask = const memo::SLOT_MASK,
            shift = const memo::STEP_SHIFT,
            kind = const memo::KIND_SIZE,
        );
    };
}

wide_thunk!("dh_check_r16", 0);
wide_thunk!("dh_check_w16", 1);
