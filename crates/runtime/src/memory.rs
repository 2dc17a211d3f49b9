//! What an address belongs to: a heap block, a thread's stack, thread-local storage, static data, a mapping.

use crate::held::Held;
use crate::sys::sys;
use crate::thread::{FixedState, Frame};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use deadheat_model::{ObjectId, ThreadId};
use deadheat_wire::record::{Memory, Record, StackFrame};
use hashbrown::HashSet;

/// Where a thread's stack and thread-local storage lie.
#[derive(Clone, Debug, Default)]
struct Area {
    /// From the lowest mapped byte to the control block.
    stack: Range<u64>,
    /// The thread pointer.
    pointer: u64,
    /// Whether the thread has not ended.
    live: bool,
}

/// Areas by thread number.
static AREAS: Held<Vec<Area>> = Held::new(Vec::new());

/// Static thread-local storage is never taken to be larger than this.
const STATIC_TLS: u64 = 64 << 10;

/// A thread begins: notes its stack and forgets all accesses to it, since it may have been another's.
/// Called on that thread.
pub fn thread_started(thread: ThreadId) {
    let areas = AREAS.get();
    let (pointer, frame) = (crate::stack::thread_pointer(), crate::stack::frame_pointer());
    let known = areas
        .iter()
        .find(|a| !a.live && a.pointer == pointer)
        .map(|a| a.stack.clone());
    let stack = known.unwrap_or_else(|| {
        let mapping = mapping(frame);
        let end = if (mapping.start..mapping.end).contains(&pointer) {
            pointer
        } else {
            mapping.end
        };
        mapping.start..end
    });
    let end = stack.end.max(if stack.contains(&(pointer - 1)) { pointer } else { 0 });
    if areas.len() <= thread.index() {
        areas.resize(thread.index() + 1, Area::default());
    }
    areas[thread.index()] = Area {
        stack: stack.start..end,
        pointer,
        live: true,
    };
    if thread != ThreadId::MAIN {
        crate::observe::forget(stack.start, end - stack.start);
    }
}

/// A thread ended; its stack may go to another.
pub fn thread_ended(thread: ThreadId) {
    if let Some(area) = AREAS.get().get_mut(thread.index()) {
        area.live = false;
    }
}

/// Most objects of which a run's records say what they lie in.
const MOST_TOLD: usize = 1 << 12;

/// Objects of which they say it.
static TOLD: Held<HashSet<ObjectId, FixedState>> = Held::new(HashSet::with_hasher(FixedState));

/// Records what these objects were allocated in, where the records do not say so yet.
pub fn tell(objects: impl IntoIterator<Item = ObjectId>) {
    let told = TOLD.get();
    let mut fresh = Vec::new();
    for object in objects {
        if told.len() < MOST_TOLD && told.insert(object) {
            fresh.extend(allocated(object.address).map(|memory| (object, memory)));
        }
    }
    if !fresh.is_empty() {
        crate::report::write(&Record::Objects(fresh));
    }
}

/// What an address belongs to.
pub fn of(address: u64) -> Memory {
    allocated(address).or_else(|| mapped(address)).unwrap_or(Memory::Static)
}

/// The heap block, stack or thread-local storage that an address belongs to.
pub fn allocated(address: u64) -> Option<Memory> {
    if let Some(block) = crate::heap::containing(address) {
        return Some(block);
    }
    AREAS
        .get()
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, a)| a.pointer != 0)
        .find_map(|(n, area)| {
            let thread = ThreadId(n as u32);
            let local = address < area.pointer && area.pointer - address <= STATIC_TLS.min(local_size());
            if local {
                return Some(Memory::ThreadLocal {
                    thread,
                    offset: address.wrapping_sub(area.pointer) as i64,
                });
            }
            area.stack.contains(&address).then(|| Memory::Stack {
                thread,
                frames: enclosing(thread, area, address),
            })
        })
}

/// The mapping that holds an address, unless that is a loaded file's. Asked for what is reported only: it reads the
/// kernel's table.
fn mapped(address: u64) -> Option<Memory> {
    if loaded_at(address).is_some() {
        return None;
    }
    let mut found = None;
    read_maps(|line| {
        if let Some((low, high)) = bounds(line).filter(|(low, high)| (*low..*high).contains(&address)) {
            // Address range, permissions, offset, device, inode, and what is left is the path.
            let text = String::from_utf8_lossy(line);
            let mut fields = text.splitn(6, ' ');
            let offset = fields.nth(2).and_then(|field| u64::from_str_radix(field, 16).ok());
            let path = fields.nth(2).unwrap_or_default().trim();
            found = Some(Memory::Mapping {
                start: low,
                len: high - low,
                path: if path.starts_with('/') {
                    path.into()
                } else {
                    String::new()
                },
                offset: offset.unwrap_or(0),
            });
        }
        found.is_none()
    });
    found
}

/// The frame of a thread that holds an address of its stack, and the one below it, whose arguments may lie there.
fn enclosing(thread: ThreadId, area: &Area, address: u64) -> Vec<StackFrame> {
    let of = |frame: Frame| StackFrame {
        pc: frame.pc,
        frame: frame.frame,
        stack: frame.stack,
    };
    let (mut below, mut last, mut found) = (None, None::<Frame>, Vec::new());
    let at = crate::targets::frame_of(thread);
    crate::stack::frames(
        at,
        false,
        (area.stack.start, area.stack.end),
        crate::stack::DEPTH,
        |frame| {
            // A frame ends where its caller's stack pointer stands.
            if let Some(inner) = last
                && found.is_empty()
                && frame.stack > address
            {
                found.extend([of(inner)].into_iter().chain(below));
            }
            below = last.map(of);
            last = Some(frame);
        },
    );
    found
}

/// Bytes of static thread-local storage of all loaded modules.
fn local_size() -> u64 {
    static SIZE: Held<u64> = Held::new(0);
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, sum: *mut libc::c_void) -> i32 {
        // SAFETY: the loader gives a module's headers; `sum` is ours.
        unsafe {
            let info = &*info;
            for n in 0..info.dlpi_phnum {
                let header = &*info.dlpi_phdr.add(n as usize);
                if header.p_type == libc::PT_TLS {
                    *sum.cast::<u64>() += header.p_memsz.next_multiple_of(header.p_align.max(16)) + header.p_align;
                }
            }
        }
        0
    }
    let size = SIZE.get();
    if *size == 0 {
        // SAFETY: the call-back has the right shape.
        unsafe { crate::images::each(add, (size as *mut u64).cast()) };
    }
    *size
}

/// The file that an address was loaded from, and the distance between its addresses and the file's.
pub fn module_of(address: u64) -> (String, u64) {
    let (name, bias) = loaded_at(address).unwrap_or_default();
    (if name.is_empty() { executable() } else { name }, bias)
}

/// The loaded file that holds an address, as the loader names it, and where it was put; none if none does.
fn loaded_at(address: u64) -> Option<(String, u64)> {
    struct Search {
        address: u64,
        found: Option<(String, u64)>,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut libc::c_void) -> i32 {
        // SAFETY: the loader gives a module's headers and name; `search` is ours.
        unsafe {
            let (info, search) = (&*info, &mut *search.cast::<Search>());
            for n in 0..info.dlpi_phnum {
                let header = &*info.dlpi_phdr.add(n as usize);
                let start = info.dlpi_addr + header.p_vaddr;
                if header.p_type == libc::PT_LOAD && (start..start + header.p_memsz).contains(&search.address) {
                    let name = core::ffi::CStr::from_ptr(info.dlpi_name).to_string_lossy().into_owned();
                    search.found = Some((name, info.dlpi_addr));
                    return 1;
                }
            }
        }
        0
    }
    let mut search = Search { address, found: None };
    // SAFETY: the call-back has the right shape and gets our search back.
    unsafe { crate::images::each(visit, (&raw mut search).cast()) };
    search.found
}

/// Path of the executable.
pub fn executable() -> String {
    let mut path = [0u8; 4096];
    // SAFETY: a path with its end and a buffer of ours.
    let len = unsafe {
        sys!(
            libc::SYS_readlink,
            c"/proc/self/exe".as_ptr(),
            path.as_mut_ptr(),
            path.len()
        )
    };
    String::from_utf8_lossy(&path[..len.clamp(0, 4096) as usize]).into_owned()
}

/// The mapping that holds an address, empty if none does.
pub fn mapping(address: u64) -> Range<u64> {
    if let Some(found) = asked(address) {
        return found;
    }
    let mut found = 0..0;
    read_maps(|line| {
        let Some((low, high)) = bounds(line) else { return true };
        if (low..high).contains(&address) {
            found = low..high;
        }
        found.is_empty()
    });
    found
}

/// A question about one mapping, as the kernel takes it (`struct procmap_query`).
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    answer: [u64; 4],
    device: [u32; 2],
    name_sizes: [u32; 2],
    names: [u64; 2],
}

/// `PROCMAP_QUERY`: `_IOWR('f', 17, struct procmap_query)`.
const QUERY: usize = 3 << 30 | size_of::<Query>() << 16 | 0x66 << 8 | 17;

/// The mapping that holds an address, of a kernel that answers such questions (6.11): the whole table costs more than a
/// thread's start.
fn asked(address: u64) -> Option<Range<u64>> {
    let mut query = Query {
        size: size_of::<Query>() as u64,
        address,
        ..Query::default()
    };
    // SAFETY: a path with its end, a descriptor of ours, and a structure that says its size.
    let answered = unsafe {
        let path = c"/proc/self/maps".as_ptr();
        let file = sys!(libc::SYS_open, path, libc::O_RDONLY | libc::O_CLOEXEC);
        let answered = file >= 0 && sys!(libc::SYS_ioctl, file, QUERY, &raw mut query) == 0;
        sys!(libc::SYS_close, file);
        answered
    };
    answered.then_some(query.start..query.end)
}

/// Whether `test` holds for any mapping of this process.
pub fn any_mapping(mut test: impl FnMut(&Range<u64>) -> bool) -> bool {
    let mut any = false;
    read_maps(|line| {
        any |= bounds(line).is_some_and(|(low, high)| test(&(low..high)));
        !any
    });
    any
}

/// Calls `line` with each line of `/proc/self/maps` until it says false.
fn read_maps(mut line: impl FnMut(&[u8]) -> bool) {
    // SAFETY: a path with its end, a buffer of ours, a descriptor of ours.
    unsafe {
        let file = sys!(
            libc::SYS_open,
            c"/proc/self/maps".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC
        );
        if file < 0 {
            return;
        }
        let mut buffer = [0u8; 4096];
        let mut held = 0;
        'all: loop {
            let got = sys!(libc::SYS_read, file, buffer.as_mut_ptr().add(held), buffer.len() - held);
            if got <= 0 {
                break;
            }
            held += got as usize;
            let mut start = 0;
            while let Some(end) = buffer[start..held].iter().position(|&b| b == b'\n') {
                if !line(&buffer[start..start + end]) {
                    break 'all;
                }
                start += end + 1;
            }
            buffer.copy_within(start..held, 0);
            held -= start;
            if held == buffer.len() {
                held = 0;
            }
        }
        sys!(libc::SYS_close, file);
    }
}

/// The two addresses at the start of a line of `/proc/self/maps`.
fn bounds(line: &[u8]) -> Option<(u64, u64)> {
    let text = core::str::from_utf8(line.get(..line.iter().position(|&b| b == b' ')?)?).ok()?;
    let (low, high) = text.split_once('-')?;
    Some((u64::from_str_radix(low, 16).ok()?, u64::from_str_radix(high, 16).ok()?))
}

/// Calls `mapping` with the address range of each file's mapping that this process may not write to, nor others through.
pub fn constant_mappings(mut mapping: impl FnMut(Range<u64>)) {
    read_maps(|line| {
        let mut fields = line.split(|b| *b == b' ');
        let constant = matches!(fields.nth(1), Some(b"r--p" | b"r-xp"));
        if constant && line.contains(&b'/') {
            bounds(line).into_iter().for_each(|(low, high)| mapping(low..high));
        }
        true
    });
}

/// Whether the mapping that holds an address is shared with other processes. Reads the kernel's table.
pub fn is_shared(address: u64) -> bool {
    let mut shared = false;
    read_maps(|line| {
        let holds = bounds(line).is_some_and(|(low, high)| (low..high).contains(&address));
        if holds {
            // Address range, then permissions, of which the last says so.
            shared = line
                .split(|b| *b == b' ')
                .nth(1)
                .is_some_and(|p| p.last() == Some(&b's'));
        }
        !holds
    });
    shared
}

/// Up to 16 bytes of memory; fewer or none if they cannot be read.
pub fn peek(address: u64, len: u64) -> Vec<u8> {
    let mut bytes = alloc::vec![0u8; len.min(16) as usize];
    let own = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut _,
        iov_len: bytes.len(),
    };
    // SAFETY: the kernel checks the other side; ours is writable.
    let got = unsafe {
        sys!(
            libc::SYS_process_vm_readv,
            crate::sys::getpid(),
            &raw const own,
            1i32,
            &raw const there,
            1i32,
            0i32
        )
    };
    bytes.truncate(got.max(0) as usize);
    bytes
}
