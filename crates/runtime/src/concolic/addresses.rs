//! Loads at symbolic addresses.
//!
//! An address that depends on one input byte and points into a table (character classes, decoding tables)
//! is read for all 256 values of the byte, and the result is an if-then-else over runs of equal values; what
//! cannot be done so is fixed to its value, which is a constraint of its own that nobody turns. Tables count
//! most for parsers: without them every `isalpha` ends the exploration.

use super::memory;
use super::nodes::{self, apply, constant, constrain, make, mask, node, signed, valid};
use super::touches;
use crate::sys::sys;
use deadheat_wire::trace::{self, Node, constraint, op};
use libc::iovec;

/// Levels of an address expression that are looked at.
const DEEP: u32 = 12;
/// Most bytes between the lowest and the highest address.
const WIDEST: usize = 8192;

/// The one byte that an expression depends on, or none.
struct Leaf(u32);

impl Leaf {
    fn find(&mut self, id: u32, depth: u32) -> bool {
        if depth > DEEP || id == 0 {
            return false;
        }
        let n = node(id);
        if n.op == op::CONST {
            return true;
        }
        if n.width == 8 {
            if self.0 != 0 && self.0 != id {
                let l = node(self.0);
                if (n.op, n.a, n.b, n.low) != (l.op, l.a, l.b, l.low) {
                    return false;
                }
            }
            if self.0 == 0 {
                self.0 = id;
            }
            return true;
        }
        match n.op {
            op::EXTRACT | op::ZERO_EXTEND | op::SIGN_EXTEND => self.find(n.a, depth + 1),
            op::ADD..=op::XOR | op::CONCAT => self.find(n.a, depth + 1) && self.find(n.b, depth + 1),
            _ => false,
        }
    }
}

/// The value of an expression that [`Leaf::find`] accepted, for a value of its byte.
fn at(id: u32, byte: u64) -> u64 {
    let n = node(id);
    let width = u32::from(n.width);
    let value = match n.op {
        op::CONST => n.value,
        _ if n.width == 8 => byte,
        op::EXTRACT => at(n.a, byte) >> n.low,
        op::ZERO_EXTEND => at(n.a, byte),
        op::SIGN_EXTEND => signed(at(n.a, byte), node(n.a).width.into()) as u64,
        op::CONCAT => at(n.a, byte) << node(n.b).width | at(n.b, byte),
        _ => super::operations::evaluate(n.op, width, at(n.a, byte), at(n.b, byte)),
    };
    mask(value, width)
}

/// A load whose address has an expression.
///
/// # Safety
/// The bytes are readable.
pub unsafe fn load_at(address: u64, width: u32, number: u32, site: u64) -> u32 {
    let number = valid(number, address, 64);
    if number != 0 {
        // SAFETY: as the caller promises.
        if let Some(made) = unsafe { table(address, width, number) } {
            nodes::count(trace::TABLES_AT);
            return made;
        }
        pin(number, address, 64, site);
    }
    // SAFETY: as the caller promises.
    unsafe { memory::load(address, width) }
}

/// Fixes an expression to its value.
pub fn pin(number: u32, value: u64, width: u32, site: u64) {
    let number = valid(number, value, width);
    if number == 0 {
        return;
    }
    nodes::count(trace::PINNED_AT);
    let equal = apply(op::EQ, 1, (number, constant(value, width), 0), 1);
    constrain(site, equal, true, constraint::PIN);
}

unsafe fn table(address: u64, width: u32, number: u32) -> Option<u32> {
    let mut leaf = Leaf(0);
    if !leaf.find(number, 0) || leaf.0 == 0 {
        return None;
    }
    let size = width.div_ceil(8) as usize;
    let mut addresses = [0u64; 256];
    for (byte, slot) in addresses.iter_mut().enumerate() {
        *slot = at(number, byte as u64);
    }
    let (low, high) = (*addresses.iter().min()?, *addresses.iter().max()?);
    let span = (high - low) as usize + size;
    let own = node(leaf.0).value;
    if high - low > WIDEST as u64 || addresses[own as usize & 255] != address || memory::any(low, span as u64) {
        return None;
    }
    let mut bytes = [0u8; WIDEST + 8];
    let to = iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: span,
    };
    let from = iovec {
        iov_base: low as *mut _,
        iov_len: span,
    };
    // SAFETY: reads this process's memory by the kernel, which refuses what is not there.
    let got = unsafe {
        sys!(
            libc::SYS_process_vm_readv,
            crate::sys::getpid(),
            &raw const to,
            1usize,
            &raw const from,
            1usize,
            0usize
        )
    };
    if got != span as isize {
        return None;
    }
    touches::read(low, span as u64, 0);
    let value = |byte: usize| {
        let mut word = [0u8; 8];
        let start = (addresses[byte] - low) as usize;
        word[..size].copy_from_slice(&bytes[start..start + size]);
        mask(u64::from_le_bytes(word), width)
    };
    // From the top down: byte <= n ? value : what stands above.
    let mut result = 0;
    let mut current = 0;
    let mut n = 256;
    while n > 0 {
        let last = n - 1;
        let this = value(last);
        n = last;
        while n > 0 && value(n - 1) == this {
            n -= 1;
        }
        let here = constant(this, width);
        if result == 0 {
            (result, current) = (here, this);
        } else {
            let within = own <= last as u64;
            let below = apply(op::ULE, 1, (leaf.0, constant(last as u64, 8), 0), within.into());
            current = if within { this } else { current };
            result = apply(op::IF_THEN_ELSE, width, (below, here, result), current);
        }
        if result == 0 {
            return Some(0);
        }
    }
    let made = node(result);
    Some(if made.op == op::CONST { 0 } else { result })
}

/// A node of a source's byte.
pub fn symbol(source: u32, offset: u32, value: u8) -> u32 {
    make(Node {
        op: op::SYMBOL,
        width: 8,
        a: source,
        b: offset,
        value: value.into(),
        ..Node::default()
    })
}
