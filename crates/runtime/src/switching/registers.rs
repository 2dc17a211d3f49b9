//! A thread's registers, saved and loaded: what a call keeps, and, since threads also stop at sites in the middle of
//! their statements, all of the vector registers, of which the runtime's own code leaves the upper halves as they are.
//!
//! Cost of one exchange: about 0.2 µs, most of it `xsavec` and `xrstor`.

use core::arch::{asm, global_asm};
use core::ffi::c_void;
use core::mem::offset_of;

/// Where a thread's registers are kept while another one runs in its place.
#[repr(C)]
pub struct Registers {
    /// Stack pointer, below which the others lie; 0 while they are not saved.
    stack: u64,
    /// FS base, by which code finds the thread's own variables.
    pub thread_pointer: u64,
    /// Room for vector registers, 64-byte aligned.
    vectors: u64,
}

/// Bytes of that room: the compacted form of the components of [`COMPONENTS`], with what aligning them may take.
const VECTORS: u64 = 3072;
/// x87, SSE, AVX, AVX-512 and the keys of protected memory. Not AMX: a program has to ask for it.
const COMPONENTS: u32 = 0x2e7;

impl Registers {
    /// Without room.
    pub const fn new() -> Registers {
        Registers {
            stack: 0,
            thread_pointer: 0,
            vectors: 0,
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

    /// Whether the processor and the kernel can do this.
    pub fn can_be_exchanged() -> bool {
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

macro_rules! save {
    () => {
        concat!(
            "push rbp; push rbx; push r12; push r13; push r14; push r15\n",
            "mov r8d, edx\n",
            "mov r9, [rdi + {vectors}]\n",
            "mov eax, {components}\n",
            "xor edx, edx\n",
            "xsavec64 [r9]\n",
            "mov [rdi + {stack}], rsp",
        )
    };
}

global_asm!(
    ".pushsection .text.dh_exchange,\"ax\",@progbits",
    // rdi: who stops; rsi: who goes on, for whom its own call returns edx.
    ".hidden dh_exchange",
    ".globl dh_exchange",
    ".type dh_exchange,@function",
    "dh_exchange:",
    save!(),
    "2:",
    "mov r9, [rsi + {vectors}]",
    "mov eax, {components}",
    "xor edx, edx",
    "xrstor64 [r9]",
    "mov rax, [rsi + {pointer}]",
    "wrfsbase rax",
    "mov rsp, [rsi + {stack}]",
    "mov qword ptr [rsi + {stack}], 0",
    "mov eax, r8d",
    "pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp",
    "ret",
    // rdi: who goes on; esi: what its own call returns.
    ".hidden dh_go_on",
    ".globl dh_go_on",
    ".type dh_go_on,@function",
    "dh_go_on:",
    "mov r8d, esi",
    "mov rsi, rdi",
    "jmp 2b",
    // rdi: who stops; rsi: top of another stack; rdx: what runs there with rcx and r8 as its arguments.
    ".hidden dh_leave",
    ".globl dh_leave",
    ".type dh_leave,@function",
    "dh_leave:",
    "mov r10, rdx",
    "mov r11, r8",
    save!(),
    "mov rsp, rsi",
    "xor ebp, ebp",
    "mov rdi, rcx",
    "mov rsi, r11",
    "call r10",
    "ud2",
    ".popsection",
    stack = const offset_of!(Registers, stack),
    pointer = const offset_of!(Registers, thread_pointer),
    vectors = const offset_of!(Registers, vectors),
    components = const COMPONENTS,
);

unsafe extern "C" {
    /// Saves the registers of who stops and loads those of who goes on, whose own call returns `result`. Returns when
    /// somebody goes on with those saved, with that one's `result`.
    pub fn dh_exchange(stops: *mut Registers, goes_on: *mut Registers, result: u32) -> u32;
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
