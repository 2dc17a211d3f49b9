//! One step up a call stack by the unwind tables (`.eh_frame`) that every module carries.
//!
//! The drivers keep frame pointers, but a stack also goes through code that has none: libstdc++ between the
//! program and `pthread_create`, `qsort` between the program and its comparison. What the tables say of a code
//! address is kept as a rule of a few words: the canonical frame address is the stack or frame pointer plus a
//! constant, and the return address and the saved frame pointer lie at constant distances from it. Other rules
//! (expressions, registers that we do not follow) end the step; the caller then goes by the frame pointer.
//!
//! Cost: a table is searched once per code address; afterwards a step is a look-up, mostly in a small cache. Nothing is
//! read but tables of loaded modules and words within the bounds that the caller gives.

use crate::held::Held;
use crate::stacks;
use crate::thread::{FixedState, Frame};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::ops::Range;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindContextStorage, UnwindSection, UnwindTableRow,
};
use hashbrown::HashMap;
use libc::{c_int, dl_phdr_info};

const RBP: Register = Register(6);
const RSP: Register = Register(7);
const RETURN: Register = Register(16);

/// What a step from a code address does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Nothing usable is known.
    Unknown,
    /// There is no caller.
    Outermost,
    Known {
        /// Whether the frame pointer is the base, or else the stack pointer.
        by_frame: bool,
        /// From the base to the canonical frame address.
        canonical: i32,
        /// From there to the return address.
        back: i32,
        /// From there to the caller's frame pointer; none if the register still holds it.
        saved: Option<i32>,
    },
}

/// A module's code and its table.
struct Tables {
    code: Range<u64>,
    /// `.eh_frame_hdr`.
    header: Range<u64>,
    /// The loaded segments, which hold `.eh_frame`.
    loaded: Range<u64>,
}

/// Room for the rules of one row: no function saves more registers than there are.
struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(Register, RegisterRule<usize>); 40];
    type Stack = [UnwindTableRow<usize, Self>; 4];
}

/// Slots of the cache in front of the rules.
const SLOTS: usize = 1024;
/// Rules kept; beyond that they are looked up anew.
const MOST: usize = 1 << 18;
/// Searches for modules that found nothing are given up after so many.
const MISSES: u32 = 64;

struct Unwinder {
    modules: Vec<Tables>,
    misses: u32,
    rules: HashMap<u64, Rule, FixedState>,
    /// Rules used last.
    recent: Vec<(u64, Rule)>,
    context: Option<Box<UnwindContext<usize, Storage>>>,
}

static UNWINDER: Held<Unwinder> = Held::new(Unwinder {
    modules: Vec::new(),
    misses: 0,
    rules: HashMap::with_hasher(FixedState),
    recent: Vec::new(),
    context: None,
});

/// What was loaded changed: everything is looked up anew.
pub fn modules_changed() {
    let unwinder = UNWINDER.get();
    unwinder.modules.clear();
    unwinder.rules.clear();
    unwinder.recent.clear();
    unwinder.misses = 0;
    stacks::rules_changed();
}

/// The caller's frame, if it is known. `exact`: the code address is that of an instruction about to run, not a
/// return address. Only `low..high` is read.
pub fn up(at: Frame, exact: bool, bounds: (u64, u64)) -> Option<Frame> {
    up_by(at, exact, bounds, |_, _| {})
}

/// The same; tells `read` of each word of the stack that it went by, and what was there.
#[inline]
pub fn up_by(at: Frame, exact: bool, (low, high): (u64, u64), mut read: impl FnMut(u64, u64)) -> Option<Frame> {
    let code = at.pc.wrapping_sub(u64::from(!exact));
    match UNWINDER.get().rule(code) {
        Rule::Outermost => None,
        Rule::Known {
            by_frame,
            canonical,
            back,
            saved,
        } if by_frame || at.stack != 0 => {
            let base = if by_frame { at.frame } else { at.stack };
            let canonical = base.wrapping_add_signed(canonical.into());
            let mut word = |offset: i32| {
                let address = canonical.wrapping_add_signed(offset.into());
                if address & 7 != 0 || address < low || address > high.saturating_sub(8) {
                    return None;
                }
                // SAFETY: within the thread's stack.
                let found = unsafe { (address as *const u64).read() };
                read(address, found);
                Some(found)
            };
            let frame = match saved {
                Some(offset) => word(offset)?,
                None => at.frame,
            };
            let pc = word(back).filter(|pc| *pc >= 4096)?;
            (canonical > at.stack).then_some(Frame {
                pc,
                frame,
                stack: canonical,
            })
        }
        _ => by_frame_pointer(at, low, high, read),
    }
}

/// The caller's frame by the frame pointer.
fn by_frame_pointer(at: Frame, low: u64, high: u64, mut read: impl FnMut(u64, u64)) -> Option<Frame> {
    let Frame { frame, stack, .. } = at;
    if frame & 7 != 0 || frame < low.max(stack) || frame.saturating_add(16) > high {
        return None;
    }
    // SAFETY: both words lie within the stack.
    let (up, back) = unsafe { ((frame as *const u64).read(), (frame as *const u64).add(1).read()) };
    read(frame, up);
    read(frame + 8, back);
    (back >= 4096).then_some(Frame {
        pc: back,
        frame: up,
        stack: frame + 16,
    })
}

impl Unwinder {
    #[inline]
    fn rule(&mut self, code: u64) -> Rule {
        let slot = (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % SLOTS;
        match self.recent.get(slot) {
            Some((known, rule)) if *known == code => *rule,
            _ => self.known(code, slot),
        }
    }

    #[cold]
    fn known(&mut self, code: u64, slot: usize) -> Rule {
        if self.recent.is_empty() {
            self.recent.resize(SLOTS, (0, Rule::Unknown));
        }
        let rule = match self.rules.get(&code) {
            Some(rule) => *rule,
            None => {
                let rule = self.look_up(code);
                if self.rules.len() == MOST {
                    self.rules.clear();
                }
                self.rules.insert(code, rule);
                rule
            }
        };
        self.recent[slot] = (code, rule);
        rule
    }

    fn look_up(&mut self, code: u64) -> Rule {
        let holds = |m: &Tables| m.code.contains(&code);
        if !self.modules.iter().any(holds) && self.misses < MISSES {
            self.misses += 1;
            self.modules.clear();
            // SAFETY: the call-back gets our list back.
            unsafe { crate::images::each(note, (&raw mut self.modules).cast()) };
        }
        let Some(module) = self.modules.iter().find(|m| holds(m)) else {
            return Rule::Unknown;
        };
        let context = self.context.get_or_insert_with(|| Box::new(UnwindContext::new_in()));
        search(module, context, code).unwrap_or(Rule::Unknown)
    }
}

/// What a module's table says of a code address.
fn search(module: &Tables, context: &mut UnwindContext<usize, Storage>, code: u64) -> Option<Rule> {
    let slice = |range: &Range<u64>| {
        // SAFETY: loaded read-only data of a module that is still loaded.
        let bytes =
            unsafe { core::slice::from_raw_parts(range.start as *const u8, (range.end - range.start) as usize) };
        EndianSlice::new(bytes, LittleEndian)
    };
    let bases = BaseAddresses::default().set_eh_frame_hdr(module.header.start);
    let header = EhFrameHdr::from(slice(&module.header)).parse(&bases, 8).ok()?;
    let start = match header.eh_frame_ptr() {
        gimli::Pointer::Direct(start) => start,
        gimli::Pointer::Indirect(_) => return None,
    };
    if !module.loaded.contains(&start) {
        return None;
    }
    let bases = bases.set_eh_frame(start);
    let frames = EhFrame::from(slice(&(start..module.loaded.end)));
    let row = header
        .table()?
        .unwind_info_for_address(&frames, &bases, context, code, EhFrame::cie_from_offset)
        .ok()?;
    let (by_frame, canonical) = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => (*register == RBP, (*register, *offset)),
        CfaRule::Expression(_) => return None,
    };
    if canonical.0 != RBP && canonical.0 != RSP {
        return None;
    }
    let small = |offset: i64| i32::try_from(offset).ok();
    let back = match row.register(RETURN) {
        Some(RegisterRule::Offset(offset)) => small(offset)?,
        Some(RegisterRule::Undefined) => return Some(Rule::Outermost),
        _ => return None,
    };
    let saved = match row.register(RBP) {
        Some(RegisterRule::Offset(offset)) => Some(small(offset)?),
        None | Some(RegisterRule::SameValue) => None,
        _ => return None,
    };
    Some(Rule::Known {
        by_frame,
        canonical: small(canonical.1)?,
        back,
        saved,
    })
}

unsafe extern "C" fn note(info: *mut dl_phdr_info, _: usize, modules: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and the list that was given with it.
    unsafe {
        let (info, modules) = (&*info, &mut *(modules as *mut Vec<Tables>));
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let range = |h: &libc::Elf64_Phdr| info.dlpi_addr + h.p_vaddr..info.dlpi_addr + h.p_vaddr + h.p_memsz;
        let Some(header) = headers.iter().find(|h| h.p_type == libc::PT_GNU_EH_FRAME).map(range) else {
            return 0;
        };
        let parts = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        // The tables lie in one segment, behind the header that points to them or before it.
        let Some(loaded) = parts().map(range).find(|r| r.contains(&header.start)) else {
            return 0;
        };
        for code in parts().filter(|h| h.p_flags & libc::PF_X != 0).map(range) {
            modules.push(Tables {
                code,
                header: header.clone(),
                loaded: loaded.clone(),
            });
        }
    }
    0
}
