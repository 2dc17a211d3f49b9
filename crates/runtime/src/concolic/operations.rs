//! What instrumented code calls: one function an operation. Numbers and machine values in, a number out.

use super::addresses::{load_at, pin};
use super::memory;
use super::nodes::{apply, constant, constrain, extract, mask, node, on, or_constant, signed, valid};
use deadheat_wire::trace::{constraint, op};

/// The value of an operation, as the processor has it where the result is defined.
pub fn evaluate(code: u8, width: u32, x: u64, y: u64) -> u64 {
    let (sx, sy) = (signed(x, width), signed(y, width));
    let far = y >= u64::from(width);
    match code {
        op::ADD => x.wrapping_add(y),
        op::SUB => x.wrapping_sub(y),
        op::MUL => x.wrapping_mul(y),
        op::UDIV => x.checked_div(y).unwrap_or(u64::MAX),
        op::UREM => x.checked_rem(y).unwrap_or(x),
        op::SDIV if sy == 0 => {
            if sx < 0 {
                1
            } else {
                u64::MAX
            }
        }
        op::SDIV => sx.wrapping_div(sy) as u64,
        op::SREM if sy == 0 => x,
        op::SREM => sx.wrapping_rem(sy) as u64,
        op::SHL | op::LSHR if far => 0,
        op::SHL => x << y,
        op::LSHR => x >> y,
        op::ASHR => (sx >> y.min(63)) as u64,
        op::AND => x & y,
        op::OR => x | y,
        op::XOR => x ^ y,
        op::EQ => (x == y).into(),
        op::NE => (x != y).into(),
        op::UGT => (x > y).into(),
        op::UGE => (x >= y).into(),
        op::ULT => (x < y).into(),
        op::ULE => (x <= y).into(),
        op::SGT => (sx > sy).into(),
        op::SGE => (sx >= sy).into(),
        op::SLT => (sx < sy).into(),
        _ => (sx <= sy).into(),
    }
}

/// `head`: code and operands' width; `site` not 0 where a symbolic divisor is a constraint.
fn binary(code: u8, width: u32, (a, x): (u32, u64), (b, y): (u32, u64), site: u64) -> u32 {
    let (x, y) = (mask(x, width), mask(y, width));
    let (a, b) = (valid(a, x, width), valid(b, y, width));
    if a == 0 && b == 0 {
        return 0;
    }
    if site != 0 && b != 0 {
        let zero = constant(0, width);
        let proper = apply(op::NE, 1, (b, zero, 0), (y != 0).into());
        constrain(site, proper, y != 0, constraint::DIVISOR);
    }
    if b == 0
        && y == 0
        && matches!(
            code,
            op::ADD | op::SUB | op::OR | op::XOR | op::SHL | op::LSHR | op::ASHR
        )
    {
        return a;
    }
    let (a, b) = (or_constant(a, x, width), or_constant(b, y, width));
    let result = if code >= op::EQ { 1 } else { width };
    apply(code, result, (a, b, 0), evaluate(code, width, x, y))
}

fn cast(from: u32, to: u32, sign: bool, a: u32, value: u64) -> u32 {
    let a = valid(a, value, from);
    if a == 0 || from == to {
        return a;
    }
    if to < from {
        let inner = node(a);
        if matches!(inner.op, op::ZERO_EXTEND | op::SIGN_EXTEND) && u32::from(node(inner.a).width) == to {
            return inner.a;
        }
        return extract(a, 0, to, value);
    }
    if sign {
        apply(op::SIGN_EXTEND, to, (a, 0, 0), signed(mask(value, from), from) as u64)
    } else {
        apply(op::ZERO_EXTEND, to, (a, 0, 0), mask(value, from))
    }
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_binary(head: u32, a: u32, x: u64, b: u32, y: u64, site: u64) -> u32 {
    binary((head >> 8) as u8, head & 255, (a, x), (b, y), site)
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_cast(head: u32, a: u32, value: u64) -> u32 {
    cast(head >> 8 & 255, head & 255, head >> 16 != 0, a, value)
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_choose(width: u32, c: u32, condition: u64, a: u32, x: u64, b: u32, y: u64) -> u32 {
    let c = valid(c, condition, 1);
    let (a, b) = (valid(a, x, width), valid(b, y, width));
    if c == 0 {
        return if condition & 1 == 1 { a } else { b };
    }
    let value = if condition & 1 == 1 { x } else { y };
    apply(
        op::IF_THEN_ELSE,
        width,
        (c, or_constant(a, x, width), or_constant(b, y, width)),
        value,
    )
}

/// One variable index of an address: `at + index * scale`.
#[unsafe(no_mangle)]
extern "C" fn dh_sym_step(base: u32, at: u64, index: u32, value: u64, width: u32, scale: u64) -> u32 {
    let index = valid(index, value, width);
    let base = valid(base, at, 64);
    if index == 0 {
        let moved = value.wrapping_mul(scale);
        return binary(op::ADD, 64, (base, at), (0, moved), 0);
    }
    let wide = cast(width, 64, true, index, value);
    let scaled = binary(op::MUL, 64, (wide, value), (0, scale), 0);
    let distance = if scale == 1 { wide } else { scaled };
    binary(op::ADD, 64, (base, at), (distance, value.wrapping_mul(scale)), 0)
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_unary(head: u32, a: u32, x: u64) -> u32 {
    let (kind, width) = (head >> 8, head & 255);
    let a = valid(a, x, width);
    if a == 0 {
        return 0;
    }
    let x = mask(x, width);
    let bit = |n: u32| apply(op::ZERO_EXTEND, width, (extract(a, n, 1, x >> n), 0, 0), x >> n & 1);
    match kind {
        // Byte swap.
        0 => (0..width / 8).fold(0, |made, n| {
            let byte = extract(a, 8 * n, 8, x >> (8 * n));
            if made == 0 {
                return byte;
            }
            let value = node(made).value << 8 | x >> (8 * n) & 255;
            apply(op::CONCAT, 8 * (n + 1), (made, byte, 0), value)
        }),
        // Number of ones.
        1 => (0..width).fold(constant(0, width), |made, n| {
            let value = u64::from(mask(x, n + 1).count_ones());
            apply(op::ADD, width, (made, bit(n), 0), value)
        }),
        // Absolute value.
        2 => {
            let negative = binary(op::SLT, width, (a, x), (0, 0), 0);
            let minus = apply(op::SUB, width, (constant(0, width), a, 0), x.wrapping_neg());
            let value = if signed(x, width) < 0 { x.wrapping_neg() } else { x };
            apply(op::IF_THEN_ELSE, width, (negative, minus, a), value)
        }
        // Zeros below (3) or above (4) the first one: the first bit that is one decides.
        _ => (0..width).fold(constant(width.into(), width), |made, n| {
            let place = if kind == 3 { width - 1 - n } else { n };
            let distance = if kind == 3 { place } else { width - 1 - place };
            let set = x >> place & 1 == 1;
            let value = if set { distance.into() } else { node(made).value };
            let here = constant(distance.into(), width);
            if made == 0 {
                return 0;
            }
            apply(
                op::IF_THEN_ELSE,
                width,
                (extract(a, place, 1, x >> place), here, made),
                value,
            )
        }),
    }
}

/// Whether an operation overflows. Products of more than 32 bits are concrete.
#[unsafe(no_mangle)]
extern "C" fn dh_sym_overflow(head: u32, a: u32, x: u64, b: u32, y: u64) -> u32 {
    let (sign, code, width) = (head >> 16 != 0, (head >> 8) as u8, head & 255);
    let (x, y) = (mask(x, width), mask(y, width));
    if code == op::MUL {
        if width > 32 {
            memory::lost();
            return 0;
        }
        let widened = |n: u32, v: u64| {
            let wide = if sign { signed(v, width) as u64 } else { v };
            (cast(width, 64, sign, n, v), wide)
        };
        let (p, q) = (widened(a, x), widened(b, y));
        let product = p.1.wrapping_mul(q.1);
        let whole = binary(op::MUL, 64, p, q, 0);
        let low = cast(64, width, false, whole, product);
        let back = if sign {
            signed(mask(product, width), width) as u64
        } else {
            mask(product, width)
        };
        let again = cast(width, 64, sign, low, product);
        return binary(op::NE, 64, (whole, product), (again, back), 0);
    }
    let value = evaluate(code, width, x, y);
    let result = binary(code, width, (a, x), (b, y), 0);
    if !sign {
        // A sum wrapped if it is less than an operand, a difference if the second operand was greater.
        return match code {
            op::ADD => binary(op::ULT, width, (result, value), (a, x), 0),
            _ => binary(op::ULT, width, (a, x), (b, y), 0),
        };
    }
    // The sign differs from both operands' (for a difference: the second one's turned).
    let ones = mask(u64::MAX, width);
    let (other, turned) = if code == op::ADD {
        (b, y)
    } else {
        (binary(op::XOR, width, (b, y), (0, ones), 0), y ^ ones)
    };
    let value = mask(value, width);
    let (first, p) = (binary(op::XOR, width, (a, x), (result, value), 0), x ^ value);
    let (second, q) = (
        binary(op::XOR, width, (other, turned), (result, value), 0),
        turned ^ value,
    );
    let both = binary(op::AND, width, (first, p), (second, q), 0);
    binary(op::SLT, width, (both, p & q), (0, 0), 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_load(address: u64, width: u32) -> u32 {
    if !on() {
        return 0;
    }
    // SAFETY: the program is about to read the bytes.
    unsafe { memory::load(address, width) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_load_at(address: u64, width: u32, number: u32, site: u64) -> u32 {
    // A null or wild pointer faults where the program reads, not here.
    if !on() || !super::sources::readable(address, u64::from(width.div_ceil(8))) {
        pin(number, address, 64, site);
        return 0;
    }
    // SAFETY: checked just now.
    unsafe { load_at(address, width, number, site) }
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_store(address: u64, width: u32, number: u32, value: u64) {
    if on() {
        memory::store(address, width, number, value);
    }
}

/// Whether any of these bytes has an expression.
#[unsafe(no_mangle)]
extern "C" fn dh_sym_any(address: u64, len: u64) -> i32 {
    (on() && memory::any(address, len)).into()
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_clear(address: u64, len: u64) {
    if on() {
        memory::clear(address, len);
    }
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_copy(to: u64, from: u64, len: u64) {
    if on() {
        memory::copy(to, from, len);
    }
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_fill(to: u64, number: u32, value: u64, len: u64) {
    if on() {
        memory::fill(to, number, value, len);
    }
}

/// An atomic operation is about to change memory; the number of the old value.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_modify(head: u32, address: u64, number: u32, value: u64) -> u32 {
    const EXCHANGE: u32 = 255;
    const FORGET: u32 = 254;
    if !on() {
        return 0;
    }
    let (code, width) = (head >> 8, head & 255);
    // SAFETY: the program is about to read the bytes.
    let (old, before) = unsafe { (memory::load(address, width), read(address, width)) };
    match code {
        EXCHANGE => memory::store(address, width, number, value),
        FORGET => memory::clear(address, (width / 8).into()),
        code => {
            let after = evaluate(code as u8, width, before, mask(value, width));
            let made = binary(code as u8, width, (old, before), (number, value), 0);
            memory::store(address, width, made, after);
        }
    }
    old
}

/// A compare-exchange is about to happen; the old value's number, and above it that of "it was equal".
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_compare_exchange(
    address: u64,
    width: u32,
    expected: u32,
    expected_value: u64,
    new: u32,
    new_value: u64,
) -> u64 {
    if !on() {
        return 0;
    }
    // SAFETY: the program is about to read the bytes.
    let (old, before) = unsafe { (memory::load(address, width), read(address, width)) };
    let equal = binary(op::EQ, width, (old, before), (expected, expected_value), 0);
    if before == mask(expected_value, width) {
        memory::store(address, width, new, new_value);
    }
    u64::from(old) | u64::from(equal) << 32
}

/// # Safety
/// The bytes are readable.
unsafe fn read(address: u64, width: u32) -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the caller's bytes.
    unsafe { core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), width as usize / 8) };
    u64::from_le_bytes(bytes)
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_branch(id: u32, taken: u32, site: u64) {
    let id = valid(id, taken.into(), 1);
    constrain(site, id, taken & 1 == 1, constraint::BRANCH);
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_pin(id: u32, value: u64, width: u32, site: u64) {
    pin(id, value, width, site);
}

#[unsafe(no_mangle)]
extern "C" fn dh_sym_lost() {
    memory::lost();
}

/// After `va_start`: the arguments in the list's areas get the numbers that the caller gave.
///
/// The list is the System V one: offsets of the next general and floating-point register argument, the
/// overflow area, the register save area.
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_sym_va_start(list: *const u64, numbers: *const u32) {
    const REGISTERS: u64 = 6;
    const MOST: u64 = 16;
    if !on() {
        return;
    }
    // SAFETY: the program's list, just filled in, and the caller's sixteen numbers.
    unsafe {
        let next = u64::from(*(list as *const u32)) / 8;
        let (overflow, saved) = (*list.add(1), *list.add(2));
        let beyond = next.max(REGISTERS);
        for n in 0..MOST {
            let number = *numbers.add(n as usize);
            let at = match n {
                n if n < next => continue,
                n if n < REGISTERS => saved + 8 * n,
                n => overflow + 8 * (n - beyond),
            };
            if number == 0 {
                // The save area is the callee's own; beyond the arguments on the stack lie the caller's variables.
                if n < REGISTERS {
                    memory::clear(at, 8);
                }
                continue;
            }
            let width = u32::from(node(number).width);
            memory::clear(at, 8);
            memory::store(at, width, number, mask(*(at as *const u64), width));
        }
    }
}
