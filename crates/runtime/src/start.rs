//! Start-up: without a plan nothing at all, with one the run is taken under control before any other
//! code of the program runs.
//!
//! Called from `.preinit_array`, before shared libraries' constructors; `environ` is not set yet, so the
//! environment comes from the loader's argument.

use crate::bytes::c_string;
use crate::held::Held;
use crate::sys::{exit_group, say, sys};
use crate::{clock, concolic, ending, images, observe, report, site, switching, tls, token};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use deadheat_schedule::{AnyPolicy, CycleParameters, Deviation, Kind, Parameters, RacingPair, Turn};
use deadheat_wire::plan::{self, Mode, Plan, PlanError, Policy};
use deadheat_wire::record::{EndKind, Notice, Record, Started};
use libc::{c_char, c_int};

/// Exit status when the runtime cannot do its job.
pub const REFUSED: i32 = 70;

static PLAN: Held<Option<Plan>> = Held::new(None);

/// What the run watches; `None` in a plain run.
pub fn mode() -> Option<&'static Mode> {
    PLAN.get().as_ref().map(|p| &p.mode)
}

/// The plan; `None` in a plain run.
pub fn plan() -> Option<&'static Plan> {
    PLAN.get().as_ref()
}

#[unsafe(link_section = ".preinit_array")]
#[used]
static BEFORE_ALL: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = before_all;

unsafe extern "C" fn before_all(_count: c_int, _arguments: *const *const c_char, environment: *const *const c_char) {
    // SAFETY: the loader's environment.
    let Some(path) = (unsafe { variable(environment, plan::PLAN_VARIABLE) }) else {
        crate::intercept::forward();
        return;
    };
    if crate::serve::asked(path) {
        crate::serve::begin(environment);
    }
    let plan = match read(path).as_deref().map(Plan::decode) {
        Some(Ok(plan)) => plan,
        Some(Err(PlanError::Version(tools))) => refuse(&format!(
            "the program was built by another version of deadheat (layout {}, the tool's is {tools}): build it again",
            deadheat_wire::VERSION
        )),
        Some(Err(error)) => refuse(&format!("the plan is unusable: {error}")),
        None => refuse("the plan cannot be read"),
    };
    // SAFETY: as above.
    let record = unsafe { variable(environment, plan::RECORD_VARIABLE) };
    if !record.is_some_and(report::start) {
        refuse("the record file cannot be mapped");
    }
    take_control(plan);
}

/// Value of an environment variable with its NUL.
///
/// # Safety
/// `environment` is an environment.
unsafe fn variable(mut environment: *const *const c_char, name: &str) -> Option<&'static [u8]> {
    // SAFETY: ends in a null pointer; strings live as long as the process.
    unsafe {
        while !(*environment).is_null() {
            let text: &'static [u8] = c_string(*environment);
            if let Some(value) = text.strip_prefix(name.as_bytes()).and_then(|v| v.strip_prefix(b"=")) {
                return Some(core::slice::from_raw_parts(value.as_ptr(), value.len() + 1));
            }
            environment = environment.add(1);
        }
    }
    None
}

/// Contents of a file; `path` ends in NUL.
fn read(path: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: plain file calls on our own buffer.
    unsafe {
        let fd = sys!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0i32) as i32;
        if fd < 0 {
            return None;
        }
        let size = sys!(libc::SYS_lseek, fd, 0i64, libc::SEEK_END).max(0) as usize;
        let mut bytes = alloc::vec![0u8; size];
        let mut done = 0;
        while done < size {
            let got = sys!(libc::SYS_pread64, fd, bytes.as_mut_ptr().add(done), size - done, done);
            if got <= 0 {
                break;
            }
            done += got as usize;
        }
        sys!(libc::SYS_close, fd);
        bytes.truncate(done);
        Some(bytes)
    }
}

fn take_control(plan: Plan) {
    crate::processor::start();
    if let Some(limit) = plan.stack_limit {
        restore_stack_limit(limit);
    }
    let seconds = concolic::sources::epoch_seconds(&plan.values);
    clock::start(seconds.map_or(plan.epoch_ns, |s| {
        s.saturating_mul(1_000_000_000) + plan.epoch_ns % 1_000_000_000
    }));
    crate::intercept::random::start(plan.input_seed);
    let policy = policy(&plan);
    let replayed = matches!(plan.policy, Policy::Replay { .. } | Policy::Deviations { .. });
    let (hang, switches) = (plan.hang_yields, plan.record_schedule);
    *PLAN.get() = Some(plan);
    let Some(plan) = PLAN.get().as_ref() else { return };
    let main = token::start(policy, hang, replayed, plan.places);
    token::scheduler().trail.record_switches(switches);
    crate::intercept::threads::adopt_main(main);
    ending::start();
    crate::intercept::fork::start();
    crate::peer::start();
    crate::family::start();
    let images = images::loaded();
    let opaque = opaque(&images);
    let seen = opaque.is_empty();
    if !seen {
        crate::inside::unseen_code();
    }
    started(None, opaque);
    libraries(&images);
    self_check(&images);
    observe::start(plan);
    site::attach_all();
    if seen && plan.exchanges.as_deref().is_some_and(is_this) {
        switching::start(main);
    }
    if let Some(symbolic) = &plan.symbolic {
        concolic::files::start();
        if let Err(why) = concolic::start(symbolic) {
            refuse(why);
        }
    }
}

/// Whether this is the program at a path.
fn is_this(program: &str) -> bool {
    let mut own = [0u8; libc::PATH_MAX as usize];
    // SAFETY: a path with its end, a buffer of ours.
    let len = unsafe {
        sys!(
            libc::SYS_readlink,
            c"/proc/self/exe".as_ptr(),
            own.as_mut_ptr(),
            own.len()
        )
    };
    usize::try_from(len).is_ok_and(|len| own[..len] == *program.as_bytes())
}

/// The program's own limit of its stack; it was started under a smaller one, so that the kernel puts mappings where
/// they have a shadow.
fn restore_stack_limit(limit: u64) {
    let mut now = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: buffers of ours. Failure leaves the smaller limit.
    unsafe {
        sys!(libc::SYS_prlimit64, 0i32, libc::RLIMIT_STACK, 0usize, &raw mut now);
        now.rlim_cur = limit.min(now.rlim_max);
        sys!(libc::SYS_prlimit64, 0i32, libc::RLIMIT_STACK, &raw const now, 0usize);
    }
}

/// The first record of a process.
pub fn started(parent: Option<u32>, opaque_libraries: Vec<String>) {
    // SAFETY: asks for the personality without changing it.
    let personality = unsafe { sys!(libc::SYS_personality, 0xffff_ffffu32) };
    report::write(&Record::Started(Started {
        version: deadheat_wire::VERSION,
        pid: crate::sys::getpid() as u32,
        parent,
        fixed_addresses: personality > 0 && personality & 0x0004_0000 != 0,
        opaque_libraries,
    }));
}

/// Tells where the loaded libraries are.
pub fn libraries(images: &[images::Image]) {
    for image in images.iter().filter(|image| image.name.starts_with('/')) {
        report::write(&Record::Library {
            path: image.name.clone(),
            bias: image.bias,
        });
    }
}

/// The plan's policy.
fn policy(plan: &Plan) -> AnyPolicy {
    let pair = match &plan.mode {
        Mode::Confirm(targets) => RacingPair::new(targets.first.clone(), targets.second.clone()),
        _ => RacingPair::default(),
    };
    let kind = match &plan.policy {
        Policy::Fifo => Kind::Fifo { quantum: plan.quantum },
        Policy::Random { seed, switch } => Kind::Random {
            seed: *seed,
            switch: *switch,
        },
        Policy::RaceDirected {
            seed,
            switch,
            postponements,
            flip,
            last,
        } => Kind::RaceDirected(Parameters {
            seed: *seed,
            switch: *switch,
            postponements: *postponements,
            patience: deadheat_schedule::PATIENCE,
            flip: *flip,
            last: *last,
        }),
        Policy::CycleDirected {
            seed,
            switch,
            postponements,
        } => Kind::CycleDirected(CycleParameters {
            seed: *seed,
            switch: *switch,
            postponements: *postponements,
            patience: deadheat_schedule::PATIENCE,
            parts: match &plan.mode {
                Mode::Confirm(targets) => targets.cycle.len() as u32,
                _ => 0,
            },
        }),
        Policy::Pct { seed, depth, steps } => Kind::Pct {
            seed: *seed,
            depth: *depth,
            steps: *steps,
        },
        Policy::Pos { seed } => Kind::Pos { seed: *seed },
        Policy::Surw { seed, counts } => Kind::Surw {
            seed: *seed,
            counts: counts.clone(),
        },
        Policy::Overtaken { seed, switch, places } => Kind::Overtaken {
            seed: *seed,
            switch: *switch,
            places: places.clone(),
        },
        Policy::Deviations { switches } => Kind::Deviations {
            quantum: plan.quantum,
            switches: switches
                .iter()
                .map(|d| Deviation {
                    of: d.of,
                    point: d.point,
                    waits: d.waits,
                    to: d.to,
                    timeout: d.timeout,
                })
                .collect(),
        },
        Policy::Replay { switches } => Kind::Replay {
            turns: switches
                .iter()
                .map(|s| Turn {
                    step: s.step,
                    thread: s.to,
                    timeout: s.timeout,
                })
                .collect(),
        },
    };
    AnyPolicy::from_plan(kind, pair)
}

/// Libraries whose synchronisation goes through what we interpose, or that have none worth seeing: the beginning of the
/// file's name, and of a version that it defines. A project may have a `libutil.so` of its own; it has no such versions.
/// Not libc++: its `call_once` publishes with an atomic store of its own, which compiled code reads inline.
const BENIGN: [(&str, &str); 12] = [
    ("libc.so", "GLIBC_2."),
    ("libm.so", "GLIBC_2."),
    ("ld-linux", "GLIBC_2."),
    ("libpthread.so", "GLIBC_2."),
    ("libdl.so", "GLIBC_2."),
    ("librt.so", "GLIBC_2."),
    ("libutil.so", "GLIBC_2."),
    ("libresolv.so", "GLIBC_2."),
    ("libgcc_s.so", "GCC_3."),
    ("libstdc++.so", "GLIBCXX_3."),
    ("libatomic.so", "LIBATOMIC_1."),
    ("linux-vdso.so", "LINUX_2."),
];

/// The same for libraries that define no versions: known by their name in the system's directories.
const BENIGN_IN_SYSTEM: [&str; 3] = ["libc++abi.so", "libunwind.so", "libnss_"];
const SYSTEM: [&str; 4] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"];

/// Libraries without sites whose synchronisation would be unseen.
pub fn opaque(images: &[images::Image]) -> Vec<String> {
    fn file(path: &str) -> &str {
        path.rsplit('/').next().unwrap_or_default()
    }
    let begins = |name: &str, with: &str| name.starts_with(with);
    let benign = |i: &images::Image| {
        let name = file(&i.name);
        let versioned = |b: &(&str, &str)| begins(name, b.0) && i.versions.iter().any(|v| begins(v, b.1));
        BENIGN.iter().any(versioned)
            || BENIGN_IN_SYSTEM.iter().any(|b| begins(name, b)) && SYSTEM.iter().any(|s| begins(&i.name, s))
    };
    let built = |i: &images::Image| {
        ["dh_register_module", "__tsan_init"]
            .iter()
            .any(|n| i.imports.contains(n))
    };
    let unseen = images.iter().filter(|i| !i.name.is_empty() && !benign(i) && !built(i));
    unseen.map(|i| i.name.clone()).collect()
}

/// Names of functions that synchronise begin so.
const FAMILIES: [&str; 6] = ["pthread_", "sem_", "mtx_", "cnd_", "thrd_", "call_once"];

/// Whether a function synchronises threads.
pub fn synchronises(name: &str) -> bool {
    name == "syscall" || FAMILIES.iter().any(|f| name.starts_with(f))
}

/// Holds that our functions are reached, and that every synchronisation call in sight is modelled.
pub fn self_check(images: &[images::Image]) {
    for &(name, own) in crate::intercept::REPRESENTATIVES {
        let seen = crate::real::look_up(libc::RTLD_DEFAULT, name);
        if seen != own as usize && seen != 0 {
            unmodelled(&name.to_string_lossy(), "does not reach the runtime");
        }
    }
    for image in images {
        for &name in &image.defines {
            if name == "malloc" {
                crate::intercept::own_allocations();
            } else if name.starts_with("pthread_") {
                unmodelled(
                    name,
                    "is defined by the program itself, so that its calls do not reach the runtime",
                );
            }
        }
        for &import in &image.imports {
            let synchronises = FAMILIES.iter().any(|f| import.starts_with(f));
            if synchronises && !crate::intercept::knows(import) && is_libc(import) {
                unmodelled(import, "is not modelled");
            }
        }
    }
}

/// Whether a name is the C library's, not one of the program's own that begins alike.
fn is_libc(name: &str) -> bool {
    let Ok(name) = alloc::ffi::CString::new(name) else {
        return false;
    };
    let address = crate::real::find(&name);
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the loader fills the structure; zeroed it is valid, and its names are C strings or null.
    let file = unsafe {
        libc::dladdr(address as *const core::ffi::c_void, info.as_mut_ptr());
        c_string(info.assume_init().dli_fname)
    };
    address != 0
        && file
            .rsplit(|b| *b == b'/')
            .next()
            .is_some_and(|f| f.starts_with(b"libc.so"))
}

fn unmodelled(call: &str, why: &str) -> ! {
    report::write(&Record::Notice(Notice::NotInterposed { call: call.into() }));
    refuse(&format!("{call} {why}; the program cannot be run under control"))
}

/// Gives up: says why on standard error and, if there is a record file, there.
pub fn refuse(why: &str) -> ! {
    say(&format!("deadheat: {why}"));
    report::write(&Record::Notice(Notice::Text(why.into())));
    ending::finish(EndKind::Refused, None);
    exit_group(REFUSED)
}

#[panic_handler]
fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    say(&format!("deadheat: the runtime failed: {info}"));
    // SAFETY: null or our own record.
    if unsafe { tls::thread().as_ref() }.is_some() {
        report::write(&Record::Notice(Notice::Text(format!("the runtime failed: {info}"))));
        ending::finish(EndKind::Refused, None);
    }
    exit_group(REFUSED)
}

/// The compiler's own parts name this symbol in their unwind tables; nothing of ours unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// As above: named by the compiler's own parts, never reached.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    exit_group(REFUSED)
}
