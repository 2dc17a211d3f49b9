//! The calls of ThreadSanitizer's instrumentation that stand for atomic operations: `__tsan_atomic32_load` and its kin.
//! They *make* the operation, in a plain run too.
//!
//! Orders are told to the detector as they were given; the machine's operations are the strongest, except for stores
//! that are not sequentially consistent, which would cost a plain run most.

use super::frame;
use crate::call_sites::{self, Atomic, Code};
use core::arch::asm;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, compiler_fence};
use deadheat_model::SiteKind;

const SEQUENTIALLY_CONSISTENT: i32 = 5;

const fn told(kind: SiteKind, size: usize, orders: [i32; 2]) -> Atomic {
    Atomic {
        code: Code::new(kind, 0, size as u32),
        orders,
    }
}

/// Tells of the operation before it is made.
macro_rules! before {
    ($address:expr, $kind:ident, $type:ty, $order:expr, $failure:expr) => {
        if call_sites::active() {
            let operation = told(SiteKind::$kind, size_of::<$type>(), [$order, $failure]);
            call_sites::before_atomic($address as u64, operation, frame!());
        }
    };
}

/// Tells whether the compare-exchange wrote.
macro_rules! after {
    ($success:expr) => {
        if call_sites::active() {
            call_sites::after_exchange($success);
        }
    };
}

/// `update! { TYPE OPERATION; NAME(METHOD)… }`: read-modify-writes of one width.
macro_rules! updates {
    ($type:ty, $atomic:ty; $($name:ident($method:ident))*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *mut $type, operand: $type, order: i32) -> $type {
            before!(address, AtomicUpdate, $type, order, order);
            // SAFETY: the program's own object.
            unsafe { &*address.cast::<$atomic>() }.$method(operand, SeqCst)
        }
    )* };
}

/// The operations of one width.
macro_rules! width {
    ($type:ty, $atomic:ty; $load:ident $store:ident $strong:ident $weak:ident $val:ident; $($name:ident($method:ident))*) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $load(address: *const $type, order: i32) -> $type {
            before!(address, AtomicLoad, $type, order, order);
            // SAFETY: the program's own object.
            unsafe { &*address.cast::<$atomic>() }.load(SeqCst)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $store(address: *mut $type, value: $type, order: i32) {
            before!(address, AtomicStore, $type, order, order);
            // SAFETY: the program's own object.
            let object = unsafe { &*address.cast::<$atomic>() };
            if order == SEQUENTIALLY_CONSISTENT {
                object.store(value, SeqCst);
            } else {
                object.store(value, Release);
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $val(address: *mut $type, expected: $type, value: $type, order: i32, failure: i32) -> $type {
            before!(address, AtomicCompareExchange, $type, order, failure);
            // SAFETY: the program's own object.
            let result = unsafe { &*address.cast::<$atomic>() }.compare_exchange(expected, value, SeqCst, SeqCst);
            after!(result.is_ok());
            result.unwrap_or_else(|found| found)
        }

        exchanges!($type, $atomic; $strong $weak);
        updates!($type, $atomic; $($name($method))*);
    };
}

/// Compare-exchanges as gcc calls them. A weak one here fails only where a strong one would.
macro_rules! exchanges {
    ($type:ty, $atomic:ty; $($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *mut $type, expected: *mut $type, value: $type, order: i32, failure: i32) -> i32 {
            before!(address, AtomicCompareExchange, $type, order, failure);
            // SAFETY: the program's own objects.
            unsafe {
                let result = (&*address.cast::<$atomic>()).compare_exchange(*expected, value, SeqCst, SeqCst);
                after!(result.is_ok());
                if let Err(found) = result {
                    *expected = found;
                }
                result.is_ok().into()
            }
        }
    )* };
}

width! { u8, AtomicU8;
    __tsan_atomic8_load __tsan_atomic8_store
    __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val;
    __tsan_atomic8_exchange(swap)
    __tsan_atomic8_fetch_add(fetch_add)
    __tsan_atomic8_fetch_sub(fetch_sub)
    __tsan_atomic8_fetch_and(fetch_and)
    __tsan_atomic8_fetch_or(fetch_or)
    __tsan_atomic8_fetch_xor(fetch_xor)
    __tsan_atomic8_fetch_nand(fetch_nand)
}
width! { u16, AtomicU16;
    __tsan_atomic16_load __tsan_atomic16_store
    __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val;
    __tsan_atomic16_exchange(swap)
    __tsan_atomic16_fetch_add(fetch_add)
    __tsan_atomic16_fetch_sub(fetch_sub)
    __tsan_atomic16_fetch_and(fetch_and)
    __tsan_atomic16_fetch_or(fetch_or)
    __tsan_atomic16_fetch_xor(fetch_xor)
    __tsan_atomic16_fetch_nand(fetch_nand)
}
width! { u32, AtomicU32;
    __tsan_atomic32_load __tsan_atomic32_store
    __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val;
    __tsan_atomic32_exchange(swap)
    __tsan_atomic32_fetch_add(fetch_add)
    __tsan_atomic32_fetch_sub(fetch_sub)
    __tsan_atomic32_fetch_and(fetch_and)
    __tsan_atomic32_fetch_or(fetch_or)
    __tsan_atomic32_fetch_xor(fetch_xor)
    __tsan_atomic32_fetch_nand(fetch_nand)
}
width! { u64, AtomicU64;
    __tsan_atomic64_load __tsan_atomic64_store
    __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val;
    __tsan_atomic64_exchange(swap)
    __tsan_atomic64_fetch_add(fetch_add)
    __tsan_atomic64_fetch_sub(fetch_sub)
    __tsan_atomic64_fetch_and(fetch_and)
    __tsan_atomic64_fetch_or(fetch_or)
    __tsan_atomic64_fetch_xor(fetch_xor)
    __tsan_atomic64_fetch_nand(fetch_nand)
}

/// Sixteen bytes: all is made of `cmpxchg16b`, as compilers do.
#[repr(transparent)]
struct Wide(core::cell::UnsafeCell<u128>);

impl Wide {
    fn compare_exchange(
        &self,
        expected: u128,
        value: u128,
        _: core::sync::atomic::Ordering,
        _: core::sync::atomic::Ordering,
    ) -> Result<u128, u128> {
        // SAFETY: an aligned object of the program; what uses sixteen bytes atomically needs the instruction anyway.
        let found = unsafe { exchange_sixteen(self.0.get(), expected, value) };
        if found == expected { Ok(found) } else { Err(found) }
    }

    fn update(&self, next: impl Fn(u128) -> u128) -> u128 {
        let mut seen = 0;
        loop {
            match self.compare_exchange(seen, next(seen), AcqRel, Acquire) {
                Ok(before) => return before,
                Err(found) => seen = found,
            }
        }
    }
}

/// # Safety
/// Sixteen aligned bytes of the program's.
unsafe fn exchange_sixteen(at: *mut u128, expected: u128, value: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: as our caller; `rbx`, which the compiler keeps for itself, is put back.
    unsafe {
        asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") at,
            inout("rsi") value as u64 => _,
            in("rcx") (value >> 64) as u64,
            inout("rax") expected as u64 => low,
            inout("rdx") (expected >> 64) as u64 => high,
            options(nostack),
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

/// `wide! { NAME(before => after)… }`: read-modify-writes of sixteen bytes.
macro_rules! wide {
    ($($name:ident(|$before:ident, $operand:ident| $after:expr))*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *mut u128, $operand: u128, order: i32) -> u128 {
            before!(address, AtomicUpdate, u128, order, order);
            // SAFETY: the program's own object.
            unsafe { &*address.cast::<Wide>() }.update(|$before| $after)
        }
    )* };
}

wide! {
    __tsan_atomic128_exchange(|_before, value| value)
    __tsan_atomic128_fetch_add(|before, value| before.wrapping_add(value))
    __tsan_atomic128_fetch_sub(|before, value| before.wrapping_sub(value))
    __tsan_atomic128_fetch_and(|before, value| before & value)
    __tsan_atomic128_fetch_or(|before, value| before | value)
    __tsan_atomic128_fetch_xor(|before, value| before ^ value)
    __tsan_atomic128_fetch_nand(|before, value| !(before & value))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_load(address: *const u128, order: i32) -> u128 {
    before!(address, AtomicLoad, u128, order, order);
    // SAFETY: the program's own object.
    unsafe { &*address.cast::<Wide>() }.update(|before| before)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_store(address: *mut u128, value: u128, order: i32) {
    before!(address, AtomicStore, u128, order, order);
    // SAFETY: the program's own object.
    unsafe { &*address.cast::<Wide>() }.update(|_| value);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_compare_exchange_val(
    address: *mut u128,
    expected: u128,
    value: u128,
    order: i32,
    failure: i32,
) -> u128 {
    before!(address, AtomicCompareExchange, u128, order, failure);
    // SAFETY: the program's own object.
    let result = unsafe { &*address.cast::<Wide>() }.compare_exchange(expected, value, SeqCst, SeqCst);
    after!(result.is_ok());
    result.unwrap_or_else(|found| found)
}

exchanges!(u128, Wide; __tsan_atomic128_compare_exchange_strong __tsan_atomic128_compare_exchange_weak);

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic_thread_fence(order: i32) {
    if call_sites::active() {
        call_sites::fence(order, frame!());
    }
    core::sync::atomic::fence(SeqCst);
}

/// Orders a thread against its own signal handlers: the compiler's business.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: i32) {
    compiler_fence(SeqCst);
}
