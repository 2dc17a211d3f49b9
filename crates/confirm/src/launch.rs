//! The steps between fork and exec of a run: namespaces, overlays, limits, no address randomisation.
//!
//! Everything that needs memory is prepared before the fork; in the child only system calls are made,
//! since another thread of the tool may have held the allocator's lock at the fork.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Most directories that are overlaid.
pub const MOST_OVERLAYS: usize = 24;
/// Most bytes that a run may write to files.
const MOST_WRITTEN: u64 = 4 << 30;
/// File descriptors from here on are used in the child for the directories below the overlays.
const LOWER_FD: i32 = 200;
const TMPFS_FD: i32 = LOWER_FD - 1;
const RUN_FD: i32 = LOWER_FD - 2;
/// The path of [`RUN_FD`].
const RUN_PATH: &CStr = c"/proc/self/fd/198";
/// The error by which a failed setup command is told from a failed system call.
const SETUP_FAILED: i32 = libc::EXFULL;

/// Which namespaces a run gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespaces {
    /// A user namespace, for users who are not root.
    pub user: bool,
    /// A network namespace with only a loopback device.
    pub network: bool,
}

/// What to start.
pub(crate) struct Launch<'a> {
    pub file: &'a Path,
    pub name: &'a OsStr,
    pub args: &'a [OsString],
    pub environment: &'a [(OsString, OsString)],
    pub directory: &'a Path,
    pub stdio: [Stdio; 3],
    pub fixed_addresses: bool,
    /// Start it under this soft limit of the stack.
    pub stack_limit: Option<u64>,
    pub setup: Option<&'a str>,
    /// Files that are put in the place of others, in the run's own file system: names relative to `directory` or
    /// absolute, with their contents.
    pub files: &'a [(Vec<u8>, Vec<u8>)],
    /// Put a supervisor between, which waits for all that the program leaves behind.
    pub supervised: bool,
    /// Namespaces, directories to overlay, and the run's own directory (for mount points).
    pub private: Option<(Namespaces, &'a [PathBuf], &'a Path)>,
}

/// Everything the child needs, ready.
struct Child0 {
    private: Option<Private>,
    directory: CString,
    fixed_addresses: bool,
    stack_limit: Option<u64>,
    setup: Option<Setup>,
    replacements: Vec<Replacement>,
    supervised: bool,
}

/// A file in the place of another, with that one's mode and times.
struct Replacement {
    path: CString,
    contents: Vec<u8>,
    mode: libc::mode_t,
    times: [libc::timespec; 2],
}

struct Private {
    namespaces: Namespaces,
    uid_map: CString,
    gid_map: CString,
    run: CString,
    tmpfs: CString,
    /// Options of the file system that takes what a run writes.
    room: CString,
    overlays: Vec<Overlay>,
    rebind: bool,
}

struct Overlay {
    directory: CString,
    upper: CString,
    work: CString,
    options: CString,
}

struct Setup {
    strings: Vec<CString>,
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

// SAFETY: the pointers point into `strings`, which is never changed after construction.
unsafe impl Send for Setup {}
// SAFETY: as above; the structure is only read.
unsafe impl Sync for Setup {}

fn text(s: &OsStr) -> io::Result<CString> {
    CString::new(s.as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

impl Replacement {
    fn new(directory: &Path, (name, contents): &(Vec<u8>, Vec<u8>)) -> io::Result<Replacement> {
        let own = std::fs::metadata(directory.join(OsStr::from_bytes(name)))?;
        let time = |tv_sec, tv_nsec| libc::timespec { tv_sec, tv_nsec };
        Ok(Replacement {
            path: text(OsStr::from_bytes(name))?,
            contents: contents.clone(),
            mode: own.mode() & 0o7777,
            times: [time(own.atime(), own.atime_nsec()), time(own.mtime(), own.mtime_nsec())],
        })
    }

    fn put(&self) -> io::Result<()> {
        // SAFETY: live C strings and buffers; the descriptor is this child's own.
        unsafe {
            succeeded(libc::unlink(self.path.as_ptr()))?;
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
            let fd = libc::open(self.path.as_ptr(), flags, self.mode);
            succeeded(fd)?;
            let mut rest = self.contents.as_slice();
            while !rest.is_empty() {
                let n = libc::write(fd, rest.as_ptr().cast(), rest.len());
                let Some(after) = usize::try_from(n).ok().and_then(|n| rest.get(n..)) else {
                    return Err(io::Error::last_os_error());
                };
                rest = after;
            }
            succeeded(libc::fchmod(fd, self.mode))?;
            succeeded(libc::futimens(fd, self.times.as_ptr()))?;
            succeeded(libc::close(fd))
        }
    }
}

impl Setup {
    fn new(command: &str, environment: &[(OsString, OsString)]) -> io::Result<Setup> {
        let mut strings = vec![c"sh".to_owned(), c"-c".to_owned(), text(OsStr::new(command))?];
        for (key, value) in environment {
            let mut pair = key.clone();
            pair.push("=");
            pair.push(value);
            strings.push(text(&pair)?);
        }
        let pointers = |range: &[CString]| range.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        let (arguments, environment) = (pointers(&strings[..3]), pointers(&strings[3..]));
        Ok(Setup {
            strings,
            arguments,
            environment,
        })
    }
}

impl Private {
    fn new(namespaces: Namespaces, directories: &[PathBuf], run: &Path) -> io::Result<Private> {
        let xattr = if namespaces.user { ",userxattr" } else { "" };
        let overlays = directories
            .iter()
            .take(MOST_OVERLAYS)
            .enumerate()
            .map(|(n, directory)| {
                let (upper, work) = (
                    format!("/proc/self/fd/{TMPFS_FD}/u{n}"),
                    format!("/proc/self/fd/{TMPFS_FD}/w{n}"),
                );
                let lower = LOWER_FD + n as i32;
                let options = format!("lowerdir=/proc/self/fd/{lower},upperdir={upper},workdir={work}{xattr}");
                Ok(Overlay {
                    directory: text(directory.as_os_str())?,
                    upper: text(OsStr::new(&upper))?,
                    work: text(OsStr::new(&work))?,
                    options: text(OsStr::new(&options))?,
                })
            });
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Private {
            namespaces,
            uid_map: text(OsStr::new(&format!("{uid} {uid} 1")))?,
            gid_map: text(OsStr::new(&format!("{gid} {gid} 1")))?,
            run: text(run.as_os_str())?,
            tmpfs: text(run.join("fs").as_os_str())?,
            room: text(OsStr::new(&format!("mode=0755,size={}m", room() >> 20)))?,
            overlays: overlays.collect::<io::Result<_>>()?,
            rebind: directories.iter().any(|d| run.starts_with(d)),
        })
    }

    fn enter(&self) -> io::Result<()> {
        let mut flags = libc::CLONE_NEWNS;
        flags |= if self.namespaces.user { libc::CLONE_NEWUSER } else { 0 };
        flags |= if self.namespaces.network { libc::CLONE_NEWNET } else { 0 };
        // SAFETY: a system call without pointers, on this single-threaded child.
        succeeded(unsafe { libc::unshare(flags) })?;
        if self.namespaces.user {
            write(c"/proc/self/setgroups", c"deny")?;
            write(c"/proc/self/uid_map", &self.uid_map)?;
            write(c"/proc/self/gid_map", &self.gid_map)?;
        }
        if self.namespaces.network {
            loopback_up()?;
        }
        mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
        open_as(&self.run, RUN_FD)?;
        for (n, overlay) in self.overlays.iter().enumerate() {
            open_as(&overlay.directory, LOWER_FD + n as i32)?;
        }
        mount(c"tmpfs", &self.tmpfs, c"tmpfs", 0, &self.room)?;
        open_as(&self.tmpfs, TMPFS_FD)?;
        for (n, overlay) in self.overlays.iter().enumerate() {
            overlay.mount(LOWER_FD + n as i32)?;
        }
        if self.rebind {
            mount(RUN_PATH, &self.run, c"", libc::MS_BIND, c"")?;
        }
        Ok(())
    }
}

impl Overlay {
    /// The merged directory takes owner and mode from the upper one, so they are copied first.
    fn mount(&self, lower: i32) -> io::Result<()> {
        // SAFETY: `stat` is plain data, filled by `fstat`; all strings live in `self`.
        unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            succeeded(libc::fstat(lower, &mut stat))?;
            succeeded(libc::mkdir(self.upper.as_ptr(), 0o755))?;
            succeeded(libc::mkdir(self.work.as_ptr(), 0o755))?;
            libc::chown(self.upper.as_ptr(), stat.st_uid, stat.st_gid);
            succeeded(libc::chmod(self.upper.as_ptr(), stat.st_mode & 0o7777))?;
        }
        mount(c"overlay", &self.directory, c"overlay", 0, &self.options)
    }
}

/// Bytes that a run may write to files: a quarter of the machine's memory, in which they lie, and no more than
/// [`MOST_WRITTEN`]. The same for every run.
fn room() -> u64 {
    let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = table.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|t| t.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or(MOST_WRITTEN, |kib| (kib << 8).clamp(64 << 20, MOST_WRITTEN))
}

fn succeeded(result: i32) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: u64, data: &CStr) -> io::Result<()> {
    // SAFETY: all are live C strings.
    succeeded(unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    })
}

fn open_as(path: &CStr, number: i32) -> io::Result<()> {
    // SAFETY: a live C string; the numbers are descriptors of this child only.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        succeeded(fd)?;
        succeeded(libc::dup3(fd, number, libc::O_CLOEXEC))?;
        succeeded(libc::close(fd))
    }
}

fn write(path: &CStr, what: &CStr) -> io::Result<()> {
    // SAFETY: live C strings and their lengths.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        succeeded(fd)?;
        let n = libc::write(fd, what.as_ptr().cast(), what.count_bytes());
        let result = if n < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        libc::close(fd);
        result
    }
}

fn loopback_up() -> io::Result<()> {
    // SAFETY: `ifreq` is plain data; the kernel reads and writes within it.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        succeeded(fd)?;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as _;
        request.ifr_name[1] = b'o' as _;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
        let result = succeeded(libc::ioctl(fd, libc::SIOCSIFFLAGS as _, &request));
        libc::close(fd);
        result
    }
}

/// Makes room for the descriptors above, as far as that is allowed; the limit to go back to.
fn more_descriptors() -> libc::rlimit {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let needed = (LOWER_FD as usize + MOST_OVERLAYS + 1) as libc::rlim_t;
    // SAFETY: buffers of ours.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let more = libc::rlimit {
            rlim_cur: limit.rlim_cur.max(needed),
            rlim_max: limit.rlim_max.max(needed),
        };
        libc::setrlimit(libc::RLIMIT_NOFILE, &more);
    }
    limit
}

impl Child0 {
    fn prepare(&self) -> io::Result<()> {
        // SAFETY: system calls on plain values.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
        }
        if let Some(private) = &self.private {
            let limit = more_descriptors();
            private.enter()?;
            // SAFETY: a buffer of ours.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
        }
        // SAFETY: a live C string.
        succeeded(unsafe { libc::chdir(self.directory.as_ptr()) })?;
        for replacement in &self.replacements {
            replacement.put()?;
        }
        if let Some(setup) = &self.setup {
            setup.run()?;
        }
        if let Some(limit) = self.stack_limit {
            let mut now = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: buffers of ours.
            unsafe {
                libc::getrlimit(libc::RLIMIT_STACK, &mut now);
                now.rlim_cur = limit.min(now.rlim_max);
                libc::setrlimit(libc::RLIMIT_STACK, &now);
            }
        }
        if self.fixed_addresses {
            // Refused by some container profiles: the runtime then says that addresses are not fixed.
            // SAFETY: a system call without pointers.
            unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as _) };
        }
        if self.supervised {
            crate::processes::supervise()?;
        }
        Ok(())
    }
}

impl Setup {
    fn run(&self) -> io::Result<()> {
        debug_assert!(!self.strings.is_empty());
        // SAFETY: fork in a single-threaded child; its child only redirects stdin and replaces itself.
        unsafe {
            let pid = libc::fork();
            succeeded(pid)?;
            if pid == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
                libc::dup2(null, 0);
                libc::execve(c"/bin/sh".as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
                libc::_exit(127);
            }
            let mut status = 0;
            while libc::waitpid(pid, &mut status, 0) < 0 {
                if *libc::__errno_location() != libc::EINTR {
                    return Err(io::Error::last_os_error());
                }
            }
            if status == 0 {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(SETUP_FAILED))
            }
        }
    }
}

/// Whether the error says that the setup command failed.
pub(crate) fn setup_failed(error: &io::Error) -> bool {
    error.raw_os_error() == Some(SETUP_FAILED)
}

impl Launch<'_> {
    pub(crate) fn spawn(self) -> io::Result<Child> {
        let private = match self.private {
            Some((namespaces, directories, run)) => {
                std::fs::create_dir_all(run.join("fs"))?;
                Some(Private::new(namespaces, directories, run)?)
            }
            None => None,
        };
        let child = Child0 {
            private,
            directory: text(self.directory.as_os_str())?,
            fixed_addresses: self.fixed_addresses,
            stack_limit: self.stack_limit,
            setup: self.setup.map(|c| Setup::new(c, self.environment)).transpose()?,
            replacements: self
                .files
                .iter()
                .map(|file| Replacement::new(self.directory, file))
                .collect::<io::Result<_>>()?,
            supervised: self.supervised,
        };
        let [stdin, stdout, stderr] = self.stdio;
        let mut command = Command::new(self.file);
        command
            .arg0(self.name)
            .args(self.args)
            .env_clear()
            .envs(self.environment.iter().map(|(k, v)| (k, v)));
        command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        // SAFETY: `prepare` makes system calls only, on memory made ready before the fork.
        unsafe { command.pre_exec(move || child.prepare()) };
        command.spawn()
    }
}

/// The way into the namespaces of a run, for its client. It stays open when the processes of the run are gone.
pub(crate) struct Entry {
    root: PathBuf,
    spaces: Vec<File>,
}

impl Entry {
    /// The namespaces of a process.
    pub(crate) fn of(pid: u32) -> io::Result<Entry> {
        let mut spaces = Vec::new();
        for name in ["user", "mnt", "net"] {
            let file = File::open(format!("/proc/{pid}/ns/{name}"))?;
            let own = std::fs::metadata(format!("/proc/self/ns/{name}"))?;
            if file.metadata()?.ino() != own.ino() {
                spaces.push(file);
            }
        }
        let root = format!("/proc/{pid}/root").into();
        Ok(Entry { root, spaces })
    }

    /// The root directory as the run sees it, as long as its first process lives.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Lets a command start in these namespaces and in this directory.
    pub(crate) fn enter_on_start(&self, command: &mut Command, directory: &Path) -> io::Result<()> {
        let spaces = self
            .spaces
            .iter()
            .map(File::try_clone)
            .collect::<io::Result<Vec<File>>>()?;
        let directory = text(directory.as_os_str())?;
        // SAFETY: system calls only, on memory made ready before the fork.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                for space in &spaces {
                    succeeded(libc::setns(space.as_raw_fd(), 0))?;
                }
                succeeded(libc::chdir(directory.as_ptr()))
            })
        };
        Ok(())
    }
}

/// Lets a command end when the tool is killed.
pub(crate) fn end_with_the_tool(command: &mut Command) {
    // SAFETY: a system call on plain values.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        })
    };
}

/// Whether these namespaces and overlays work here; `run` is an existing directory for mount points.
pub(crate) fn probe(namespaces: Namespaces, directories: &[PathBuf], run: &Path) -> io::Result<()> {
    let launch = Launch {
        file: Path::new("/bin/true"),
        name: OsStr::new("true"),
        args: &[],
        environment: &[],
        directory: Path::new("/"),
        stdio: [Stdio::null(), Stdio::null(), Stdio::null()],
        fixed_addresses: false,
        stack_limit: None,
        setup: None,
        files: &[],
        supervised: false,
        private: Some((namespaces, directories, run)),
    };
    launch.spawn()?.wait().map(|_| ())
}
