//! A thread's registers, saved and loaded: what a call keeps. Where a thread stops at a site, in the midst of a statement,
//! also x87 and vector registers, of which the site's handler saves only what the runtime's own code changes.
//!
//! Cost of one exchange: about 0.05 µs; 0.15 more (`xsavec`, `xrstor`) with vector registers.

use core::arch::{asm, global_asm};
use core::ffi::c_void;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Where a thread's registers are kept while another one runs in its place.
#[repr(C)]
pub struct Registers {
    /// Stack pointer, below which the others lie; 0 while they are not saved.
    stack: u64,
    /// FS base, by which code finds the thread's own variables.
    pub thread_pointer: u64,
    /// Room for vector registers, 64-byte aligned.
    vectors: u64,
    /// Whether that holds any.
    whole: u32,
}

/// Bytes of that room: the compacted form of the components of [`COMPONENTS`], with what aligning them may take.
const VECTORS: u64 = 3072;
/// x87, SSE, AVX, AVX-512. Not AMX nor the keys of protected memory: a program has to ask for them.
const COMPONENTS: u32 = 0xe7;

impl Registers {
    /// Without room.
    pub const fn new() -> Registers {
        Registers {
            stack: 0,
            thread_pointer: 0,
            vectors: 0,
            whole: 0,
        }
    }

    /// Takes the top of a block of zeroes for vector registers; where a stack in the rest of it begins.
    ///
    /// # Safety
    /// The block is larger than that and stays the thread's own.
    pub unsafe fn take_room(&mut self, block: *mut u8, size: usize) -> u64 {
        self.vectors = (block as u64 + size as u64 - VECTORS) & !63;
        /// Offset and size of the header, which `xrstor` demands to be zero where it means nothing.
        const HEADER: (u64, usize) = (512, 64);
        // SAFETY: within the block.
        unsafe { core::ptr::write_bytes((self.vectors + HEADER.0) as *mut u8, 0, HEADER.1) };
        self.vectors
    }

    /// Whether they are saved: the thread neither runs nor waits in its own kernel thread.
    pub fn are_saved(&self) -> bool {
        self.stack != 0
    }

    /// Whether the processor and the kernel can do this. The first question takes microseconds where the machine is virtual,
    /// so a server of runs asks it for all of them.
    pub fn can_be_exchanged() -> bool {
        static ANSWER: AtomicU8 = AtomicU8::new(0);
        const NO: u8 = 1;
        const YES: u8 = 2;
        match ANSWER.load(Relaxed) {
            0 => {
                let can = Self::are_supported();
                ANSWER.store(if can { YES } else { NO }, Relaxed);
                can
            }
            known => known == YES,
        }
    }

    fn are_supported() -> bool {
        /// Kernel's word of processor features, and the one by which programs may write the FS base.
        const HWCAP2_FSGSBASE: u64 = 2;
        const XSAVEC: u32 = 2;
        // SAFETY: asks the C library and the processor.
        unsafe {
            libc::getauxval(libc::AT_HWCAP2) & HWCAP2_FSGSBASE != 0
                && core::arch::x86_64::__cpuid_count(13, 1).eax & XSAVEC != 0
        }
    }
}

/// This thread's FS base.
pub fn thread_pointer() -> u64 {
    let pointer;
    // SAFETY: only where programs may use the instruction.
    unsafe { asm!("rdfsbase {}", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Changes the FS base.
///
/// # Safety
/// It is a thread's, and nothing is asked of the one before.
pub unsafe fn set_thread_pointer(pointer: u64) {
    // SAFETY: as demanded.
    unsafe { asm!("wrfsbase {}", in(reg) pointer, options(nostack, preserves_flags)) };
}

/// Room for [`COMPONENTS`] as `xsave` lays them out.
#[repr(C, align(64))]
struct Components([u8; 4096]);

/// Calls a handler of signals in the midst of a statement, whose x87 and vector registers are the same afterwards. Nothing is
/// lost by one that does not return.
pub fn keeping(call: impl FnOnce()) {
    const OSXSAVE: u32 = 1 << 27;
    /// As the kernel has it where a handler begins.
    static USUAL: u32 = 0x1f80;
    if core::arch::x86_64::__cpuid(1).ecx & OSXSAVE == 0 {
        return call();
    }
    let mut kept = Components([0; 4096]);
    // SAFETY: room for all of them; what is loaded was saved.
    unsafe {
        asm!("xsave64 [{}]", in(reg) &raw mut kept, in("eax") COMPONENTS, in("edx") 0, options(nostack));
        asm!("fninit", "ldmxcsr [{}]", in(reg) &raw const USUAL, options(nostack));
        call();
        asm!("xrstor64 [{}]", in(reg) &raw const kept, in("eax") COMPONENTS, in("edx") 0, options(nostack, readonly),
             out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
             out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
             out("xmm13") _, out("xmm14") _, out("xmm15") _);
    }
}

macro_rules! save {
    () => {
        concat!(
            "push rbp; push rbx; push r12; push r13; push r14; push r15\n",
            "sub rsp, 8; stmxcsr [rsp]; fnstcw [rsp + 4]\n",
            "mov r8d, edx\n",
            "mov [rdi + {whole}], ecx\n",
            "jecxz 8f\n",
            "mov r9, [rdi + {vectors}]; mov eax, {components}; xor edx, edx; xsavec64 [r9]\n",
            "8: mov [rdi + {stack}], rsp",
        )
    };
}

global_asm!(
    ".pushsection .rodata.dh_untouched,\"a\",@progbits",
    // All components as at the start of a program.
    ".balign 64",
    "dh_untouched:",
    ".zero 512",
    ".quad 0, 0x8000000000000000, 0, 0, 0, 0, 0, 0",
    ".popsection",
    ".pushsection .text.dh_exchange,\"ax\",@progbits",
    // rdi: who stops, and ecx whether in a statement; rsi: who goes on, for whom its own call returns edx.
    ".hidden dh_exchange",
    ".globl dh_exchange",
    ".type dh_exchange,@function",
    "dh_exchange:",
    save!(),
    "2:",
    "or ecx, [rsi + {whole}]",
    "jecxz 3f",
    // In a call's place the x87 stack is empty, whatever the other had there.
    "cmp dword ptr [rsi + {whole}], 0",
    "mov r9, [rsi + {vectors}]",
    "lea rax, [rip + dh_untouched]",
    "cmove r9, rax",
    "mov eax, {components}",
    "xor edx, edx",
    "xrstor64 [r9]",
    "3:",
    "mov rax, [rsi + {pointer}]",
    "wrfsbase rax",
    "mov rsp, [rsi + {stack}]",
    "mov qword ptr [rsi + {stack}], 0",
    "mov eax, r8d",
    "fldcw [rsp + 4]; ldmxcsr [rsp]; add rsp, 8",
    "pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp",
    "ret",
    // rdi: who goes on; esi: what its own call returns.
    ".hidden dh_go_on",
    ".globl dh_go_on",
    ".type dh_go_on,@function",
    "dh_go_on:",
    "mov r8d, esi",
    "mov rsi, rdi",
    "mov ecx, 1",
    "jmp 2b",
    // rdi: who stops; rsi: top of another stack; rdx: what runs there with rcx and r8 as its arguments.
    ".hidden dh_leave",
    ".globl dh_leave",
    ".type dh_leave,@function",
    "dh_leave:",
    "mov r10, rdx",
    "mov r11, r8",
    "mov [rsi - 8], rcx",
    "mov ecx, 1",
    save!(),
    "mov rsp, rsi",
    "mov rdi, [rsi - 8]",
    "mov rsi, r11",
    "xor ebp, ebp",
    "call r10",
    "ud2",
    ".popsection",
    stack = const offset_of!(Registers, stack),
    pointer = const offset_of!(Registers, thread_pointer),
    vectors = const offset_of!(Registers, vectors),
    whole = const offset_of!(Registers, whole),
    components = const COMPONENTS,
);

unsafe extern "C" {
    /// Saves the registers of who stops (if in a statement, not in a call, also those that calls change) and loads those
    /// of who goes on, whose own call returns `result`. Returns when somebody goes on with those saved, with that one's
    /// `result`.
    pub fn dh_exchange(stops: *mut Registers, goes_on: *mut Registers, result: u32, in_statement: u32) -> u32;
    /// Loads registers.
    pub fn dh_go_on(goes_on: *mut Registers, result: u32) -> !;
    /// Saves the registers of who stops, then calls a function, which does not return, on another stack.
    pub fn dh_leave(
        stops: *mut Registers,
        stack: u64,
        then: unsafe extern "C" fn(*mut c_void, *mut c_void) -> !,
        first: *mut c_void,
        second: *mut c_void,
    ) -> u32;
}
