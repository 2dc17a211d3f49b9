//! The calls of the `__tsan_*` interface that stand for sites, by name.
//!
//! Code that gcc, clang or rustc instrument for ThreadSanitizer has no tables. A call is a site, and its name in a run
//! is the address of the byte before its return address; the second site of a call that stands for two accesses is
//! [`SECOND`] bytes before that.

use crate::object::{FLAG_DYNAMIC, FLAG_VOLATILE, FLAG_VPTR, SiteDesc};
use deadheat_model::{MemoryOrder, SiteKind};

/// From a call's site to its second one.
pub const SECOND: u64 = 2;

/// What all these names begin with.
pub const PREFIX: &str = "__tsan_";

/// The sites of a call of the function of this name: the first, and the second if there are two. None if the function
/// stands for no access and no fence. Memory orders are the run's business, arguments as they are.
pub fn sites(name: &str) -> Option<(SiteDesc, Option<SiteDesc>)> {
    let name = name.strip_prefix(PREFIX)?;
    let one = |kind, flags, size| Some((describe(kind, flags, size), None));
    match name {
        "vptr_read" => return one(SiteKind::Read, FLAG_VPTR, 8),
        "vptr_update" => return one(SiteKind::Write, FLAG_VPTR, 8),
        "read_range" | "external_read" => return one(SiteKind::Read, FLAG_DYNAMIC, 0),
        "write_range" | "memset" | "external_write" => return one(SiteKind::Write, FLAG_DYNAMIC, 0),
        "memcpy" | "memmove" => {
            let read = describe(SiteKind::Read, FLAG_DYNAMIC, 0);
            return Some((describe(SiteKind::Write, FLAG_DYNAMIC, 0), Some(read)));
        }
        "atomic_thread_fence" => return one(SiteKind::Fence, 0, 0),
        _ => {}
    }
    if let Some(atomic) = name.strip_prefix("atomic") {
        let (bits, operation) = atomic.split_once('_')?;
        let size = bits
            .parse::<u32>()
            .ok()
            .filter(|b| matches!(b, 8 | 16 | 32 | 64 | 128))?
            / 8;
        let kind = match operation {
            "load" => SiteKind::AtomicLoad,
            "store" => SiteKind::AtomicStore,
            "exchange" => SiteKind::AtomicUpdate,
            _ if operation.starts_with("fetch_") => SiteKind::AtomicUpdate,
            _ if operation.starts_with("compare_exchange_") => SiteKind::AtomicCompareExchange,
            _ => return None,
        };
        return one(kind, 0, size);
    }
    let name = name.strip_prefix("unaligned_").unwrap_or(name);
    let (name, flags) = match name.strip_prefix("volatile_") {
        Some(rest) => (rest, FLAG_VOLATILE),
        None => (name, 0),
    };
    let (kind, size) = if let Some(size) = name.strip_prefix("read_write") {
        (SiteKind::ReadWrite, size)
    } else if let Some(size) = name.strip_prefix("read") {
        (SiteKind::Read, size)
    } else {
        (SiteKind::Write, name.strip_prefix("write")?)
    };
    one(
        kind,
        flags,
        size.parse().ok().filter(|s| matches!(s, 1 | 2 | 4 | 8 | 16))?,
    )
}

fn describe(kind: SiteKind, flags: u8, size: u32) -> SiteDesc {
    SiteDesc {
        kind,
        flags,
        order: MemoryOrder::Relaxed,
        failure_order: MemoryOrder::Relaxed,
        align_log2: 0,
        size,
        function: 0,
        location: 0,
        ordinal: 0,
        extra: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(name: &str) -> Option<(SiteKind, u32)> {
        sites(name).map(|(site, _)| (site.kind, site.size))
    }

    #[test]
    fn names_say_what_is_done() {
        assert_eq!(first("__tsan_read4"), Some((SiteKind::Read, 4)));
        assert_eq!(first("__tsan_unaligned_write16"), Some((SiteKind::Write, 16)));
        assert_eq!(first("__tsan_unaligned_volatile_read2"), Some((SiteKind::Read, 2)));
        assert_eq!(first("__tsan_read_write8"), Some((SiteKind::ReadWrite, 8)));
        assert_eq!(first("__tsan_atomic128_fetch_nand"), Some((SiteKind::AtomicUpdate, 16)));
        assert_eq!(
            first("__tsan_atomic32_compare_exchange_weak"),
            Some((SiteKind::AtomicCompareExchange, 4))
        );
        assert!(sites("__tsan_memmove").is_some_and(|(w, r)| w.kind == SiteKind::Write && r.is_some()));
    }

    #[test]
    fn other_names_are_no_sites() {
        for name in [
            "__tsan_func_entry",
            "__tsan_init",
            "__tsan_acquire",
            "__tsan_read3",
            "__tsan_atomic7_load",
            "__tsan_atomic32_flush",
            "__tsan_atomic_signal_fence",
            "read4",
        ] {
            assert_eq!(first(name), None, "{name}");
        }
    }
}
