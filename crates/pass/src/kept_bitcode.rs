//! The front end's bitcode, kept in the object for the static and symbolic stages.
//!
//! It is taken at the start of the pipeline and written, at the end of optimisation, as module-level
//! assembly into a section that is not loaded and that no code refers to; until then it lies here, so
//! that the optimiser never sees it. A section `.dh.bc` survives bfd, gold, lld, `--gc-sections`,
//! `strip` and `ld -r`; `.llvmbc` breaks archives where a linker plugin is installed.

use crate::ir::llvm;
use crate::shim;
use deadheat_wire::object::{BITCODE, BITCODE_MAGIC};
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Bitcode of modules that are between the two points, by the module's address.
static KEPT: Mutex<Option<HashMap<usize, Vec<u8>>>> = Mutex::new(None);

/// Takes the module's bitcode.
///
/// # Safety
/// `module` is a live module, owned by this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dh_keep_bitcode(module: LLVMModuleRef) {
    let piece = llvm!({
        let buffer = LLVMWriteBitcodeToMemoryBuffer(module);
        let bytes = std::slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer));
        let piece = compressed(bytes);
        LLVMDisposeMemoryBuffer(buffer);
        piece
    });
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.get_or_insert_default().insert(module as usize, piece);
}

/// Writes what was kept of the module into it, where that is all that is done to it.
///
/// # Safety
/// `module` is a live module, owned by this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dh_write_bitcode(module: LLVMModuleRef) {
    write(module);
}

/// Writes what was kept of the module into it.
pub fn write(module: LLVMModuleRef) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(piece) = kept.get_or_insert_default().remove(&(module as usize)) else {
        return;
    };
    let mut head = BITCODE_MAGIC.to_vec();
    head.extend((piece.len() as u64).to_le_bytes());
    head.extend(piece);
    let text = format!(
        ".pushsection {BITCODE},\"\",@progbits\n.ascii \"{}\"\n.popsection\n",
        escaped(&head)
    );
    llvm!(LLVMAppendModuleInlineAsm(module, text.as_ptr().cast(), text.len()));
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0; bytes.len() + 1024];
    // SAFETY: both buffers are as long as said.
    let length = unsafe { shim::dh_compress(bytes.as_ptr(), bytes.len(), out.as_mut_ptr(), out.len()) };
    if length == 0 {
        return stored(bytes);
    }
    out.truncate(length);
    out
}

/// A zstd frame of raw blocks (RFC 8878, section 3.1.1), for an LLVM that was built without zstd.
fn stored(bytes: &[u8]) -> Vec<u8> {
    const LARGEST_BLOCK: usize = 128 << 10;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0]; // magic; single segment, 8-byte content size
    frame.extend((bytes.len() as u64).to_le_bytes());
    let blocks = bytes.len().div_ceil(LARGEST_BLOCK).max(1);
    for n in 0..blocks {
        let block = &bytes[n * LARGEST_BLOCK..bytes.len().min((n + 1) * LARGEST_BLOCK)];
        let head = (block.len() as u32) << 3 | u32::from(n + 1 == blocks);
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

/// Bytes as they stand in an assembler's string.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for byte in bytes {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => {
                let digit = |shift: u8| (b'0' + (byte >> shift & 7)) as char;
                text.extend(['\\', digit(6), digit(3), digit(0)]);
            }
            _ => text.push(*byte as char),
        }
    }
    text
}
