//! Sections that the pass adds to object files.
//!
//! All are allocated, read-only, little-endian, free of dynamic relocations: every reference is a
//! 32-bit distance from the field that holds it (0: none). Sections of several objects are
//! concatenated by the linker, so each has fixed-size rows.
//!
//! | section | row | what |
//! |---|---|---|
//! | `dh_descs` | [`SITE_SIZE`] | one descriptor per site; a site's index is its row |
//! | `dh_sites` | [`PATCH_SIZE`] | one row per emitted NOP: where it is, which descriptor |
//! | `dh_variants` | [`VARIANT_SIZE`] | plain body and detecting body of a function |
//! | `dh_units` | [`UNIT_SIZE`] | one row per translation unit: version, counts, source name |
//! | `dh_meta` | – | strings, [`LOCATION_SIZE`] locations, groups |
//! | `.dh.bc` | – | the kept front-end bitcode, see [`BITCODE_MAGIC`] |

use deadheat_model::{MemoryOrder, SiteKind};

/// Version of these layouts, and of all that compiled code and the runtime expect of each other. Each unit row and each
/// linked module's table carries it; code of another version is not watched, and the user is told to build it again.
pub const VERSION: u32 = 5;

/// Name of the section of site descriptors.
pub const DESCS: &str = "dh_descs";
/// Name of the section of patch rows.
pub const SITES: &str = "dh_sites";
/// Name of the section of function variants.
pub const VARIANTS: &str = "dh_variants";
/// Name of the section of unit rows.
pub const UNITS: &str = "dh_units";
/// Name of the section of strings, locations and groups.
pub const META: &str = "dh_meta";
/// Name of the section of kept bitcode (not loaded).
pub const BITCODE: &str = ".dh.bc";
/// Name of the section of the names of all functions that the pass has looked at, each ended by NUL. It stays in
/// relocatable objects alone: code in an object that is none of these has no sites.
pub const SEEN: &str = ".dh.seen";
/// First bytes of each piece in [`BITCODE`]: magic, then `u64` length of what follows, then zstd-compressed bitcode.
pub const BITCODE_MAGIC: [u8; 8] = *b"DHBC\x01\0\0\0";

/// Size of a site descriptor:
/// `kind u8, flags u8, order u8 (failure order in the high nibble), align_log2 u8, size u32,
/// function i32 → string, location i32 → location, ordinal u32, extra i32`.
///
/// `extra` points to a group (in `dh_meta`) when the kind is `Group`; else 0.
pub const SITE_SIZE: usize = 24;
/// What stands at the site of a back edge: NOPs of eight and six bytes, room for a subtraction and a jump, so that a
/// loop that goes round takes no jump more.
pub const BACK_EDGE: [u8; 14] = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0];
/// Size of a patch row: `nop i32, desc i32`.
pub const PATCH_SIZE: usize = 8;
/// Size of a variant row: `plain i32, detecting i32`.
pub const VARIANT_SIZE: usize = 8;
/// Size of a location: `file i32 → string, directory i32 → string, line u32, column u32,
/// inlined_at i32 → location, function i32 → string`.
pub const LOCATION_SIZE: usize = 24;
/// Size of a group's head: `count u32`, followed by entries of [`GROUP_ENTRY_SIZE`].
pub const GROUP_HEAD_SIZE: usize = 4;
/// Size of a group entry: `desc i32, offset i32, size u32, stride u32`. The statement touches `size`
/// bytes at `offset` from the check's start, again every `stride` bytes to the check's end (0: once).
pub const GROUP_ENTRY_SIZE: usize = 16;
/// Size of a unit row: `version u32, name i32 → string, sites u32, functions u32, assembly u32,
/// naked u32, no_sanitize u32, flags u32`.
pub const UNIT_SIZE: usize = 32;

/// The runtime's table of descriptors, for which sites stand that use or close one: a word for each number.
pub const DESCRIPTORS_NAME: &str = "dh_descriptors";
/// Numbers that it has.
pub const DESCRIPTORS: u64 = 4096;
/// Bytes of a word.
pub const DESCRIPTOR_SIZE: u64 = 8;

/// Flag: the length is not `size` but in the register of a second NOP (ranges).
pub const FLAG_DYNAMIC: u8 = 1;
/// Flag: the range is the C string at the operand, its terminator included.
pub const FLAG_CSTRING: u8 = 2;
/// Flag: a volatile access.
pub const FLAG_VOLATILE: u8 = 4;
/// Flag: the store or load of a virtual-table pointer.
pub const FLAG_VPTR: u8 = 8;
/// Flag: the storage unit of a bit-field.
pub const FLAG_BITFIELD: u8 = 16;
/// Flag: the claimed bytes may exceed those really touched (masked vectors, hoisted ranges).
pub const FLAG_INEXACT: u8 = 32;

/// Unit flag: the unit has inline assembly that may synchronise unseen.
pub const UNIT_OPAQUE_ASSEMBLY: u32 = 1;

/// A site descriptor, decoded from [`SITE_SIZE`] bytes; references stay self-relative offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteDesc {
    /// What the statement does.
    pub kind: SiteKind,
    /// `FLAG_*`.
    pub flags: u8,
    /// Memory order, for atomics and fences.
    pub order: MemoryOrder,
    /// Failure order, for compare-exchange.
    pub failure_order: MemoryOrder,
    /// Log2 of the known alignment.
    pub align_log2: u8,
    /// Bytes touched; 0 when dynamic.
    pub size: u32,
    /// Distance from offset 8 of the row to the function's name.
    pub function: i32,
    /// Distance from offset 12 of the row to the location.
    pub location: i32,
    /// The site's ordinal within its function.
    pub ordinal: u32,
    /// Distance from offset 20 of the row to the group.
    pub extra: i32,
}

impl SiteDesc {
    /// Decodes a row; `None` if it is too short or its kind unknown.
    pub fn decode(row: &[u8]) -> Option<SiteDesc> {
        let word = |at: usize| -> Option<[u8; 4]> { row.get(at..at + 4)?.try_into().ok() };
        let head = word(0)?;
        Some(SiteDesc {
            kind: SiteKind::from_u8(head[0])?,
            flags: head[1],
            order: MemoryOrder::from_u8(head[2] & 15),
            failure_order: MemoryOrder::from_u8(head[2] >> 4),
            align_log2: head[3],
            size: u32::from_le_bytes(word(4)?),
            function: i32::from_le_bytes(word(8)?),
            location: i32::from_le_bytes(word(12)?),
            ordinal: u32::from_le_bytes(word(16)?),
            extra: i32::from_le_bytes(word(20)?),
        })
    }
}
