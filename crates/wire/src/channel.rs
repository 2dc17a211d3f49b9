//! The record file: a header of [`HEADER_SIZE`] bytes, then framed records.
//!
//! The runtime maps the file shared and appends: it writes a frame (`u32` length of what follows the head, `u32` id of the
//! process that writes it, postcard bytes), then stores the new committed length at [`COMMITTED_AT`] with release order. A process that dies
//! leaves a whole prefix. The tool makes the file at its full (sparse) size; a record that no longer
//! fits is counted at [`LOST_AT`] and dropped, except that [`RESERVE`] bytes are kept for the last
//! records (how the run ended).

use crate::record::Record;
use alloc::vec::Vec;

/// First bytes of the file.
pub const MAGIC: [u8; 8] = *b"DHREC\x01\0\0";
/// Size of the header.
pub const HEADER_SIZE: usize = 8192;
/// Offset of the committed length in bytes after the header (`u64`).
pub const COMMITTED_AT: usize = 8;
/// Offset of the count of records lost for want of room (`u64`).
pub const LOST_AT: usize = 16;
/// Offset of the heartbeat: scheduling steps so far (`u64`, relaxed), for progress and hang detection.
pub const STEPS_AT: usize = 24;
/// Offset of the number of live processes that write here (`u32`).
pub const PROCESSES_AT: usize = 32;
/// Offset of the client outside of control (`u32`): [`NO_PEER`], [`PEER_AWAITED`], [`PEER_ENDED`], else its process id.
pub const PEER_AT: usize = 44;
/// Offset of the number of times (`u32`) that the program, with nothing to do, asked whether the client may start.
pub const ASKED_AT: usize = 48;
/// Offset of the number of the question (`u32`) that the tool answered last, with no if the client has not started.
pub const ANSWERED_AT: usize = 52;
/// Offset of whether (`u32`, 1 if so) the run has a network namespace of its own.
pub const OWN_NETWORK_AT: usize = 56;
/// Offset of the number of processes (`u32`) that were forked and have not come to say so.
pub const UNBORN_AT: usize = 60;
/// Offset of whether (`u32`, 1 if so) the first process's parent adopts what others leave behind, and nothing else.
pub const ADOPTED_AT: usize = 72;
/// Offset of the process id (`u32`) of that parent.
pub const PARENT_AT: usize = 76;
/// Offset of the time (`u64`, nanoseconds) up to which processes that know of one another have let time pass.
pub const TIME_AT: usize = 64;
/// Offset of what those processes say of themselves: [`PROCESSES`] entries of [`PROCESS_SIZE`] bytes (the runtime's
/// `family`).
pub const FAMILY_AT: usize = 1024;
/// Entries at [`FAMILY_AT`].
pub const PROCESSES: usize = 128;
/// Bytes of each: process id (`u32`, 0 if free), what it does (`u32`), a moment (`u64`).
pub const PROCESS_SIZE: usize = 16;
/// Offset of the keys ([`module_key`]) of the run's modules, `u64` each, 0 after the last: a module has the number of its
/// key in every process of the run. Who comes with a new one appends it; the tool begins with those that it knows.
pub const MODULES_AT: usize = 4096;
/// Most modules of a run.
pub const MODULES: usize = 512;
/// There is no client.
pub const NO_PEER: u32 = 0;
/// The client starts when the program is ready. (Process 1 is never a client.)
pub const PEER_AWAITED: u32 = 1;
/// The client has ended: the program is to end too.
pub const PEER_ENDED: u32 = u32::MAX;
/// Bytes at the end kept for the last records.
pub const RESERVE: usize = 1 << 20;

/// Bytes of a frame before its record.
const HEAD: usize = 8;

/// What a linked file is known by in a run: a hash of its path, and of whether its sites are calls.
pub fn module_key(path: &str, calls: bool) -> u64 {
    let bytes = path.bytes().chain([u8::from(calls)]);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

/// Encodes one record of a process as a frame.
pub fn frame(process: u32, record: &Record) -> Vec<u8> {
    let body = postcard::to_allocvec(record).unwrap_or_default();
    let mut bytes = Vec::with_capacity(body.len() + HEAD);
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&process.to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

/// Why a record file could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Not a record file, or of another version.
    Header,
    /// A frame runs past the committed length.
    Frame,
    /// A record does not decode.
    Record,
}

/// The records of a file, each with the id of its process, and what stopped the reading short, if anything did.
pub fn read(file: &[u8]) -> (Vec<(u32, Record)>, Option<Damage>) {
    let mut records = Vec::new();
    let header = |at: usize| -> Option<u64> { Some(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?)) };
    let (Some(magic), Some(committed)) = (file.get(..8), header(COMMITTED_AT)) else {
        return (records, Some(Damage::Header));
    };
    if magic != MAGIC {
        return (records, Some(Damage::Header));
    }
    let Some(mut rest) = usize::try_from(committed)
        .ok()
        .and_then(|n| HEADER_SIZE.checked_add(n))
        .and_then(|end| file.get(HEADER_SIZE..end))
    else {
        return (records, Some(Damage::Header));
    };
    while !rest.is_empty() {
        let word = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let (Some(length), Some(process)) = (word(0), word(4)) else {
            return (records, Some(Damage::Frame));
        };
        let end = HEAD + length as usize;
        let Some(body) = rest.get(HEAD..end) else {
            return (records, Some(Damage::Frame));
        };
        match postcard::from_bytes(body) {
            Ok(record) => records.push((process, record)),
            Err(_) => return (records, Some(Damage::Record)),
        }
        rest = &rest[end..];
    }
    (records, None)
}
