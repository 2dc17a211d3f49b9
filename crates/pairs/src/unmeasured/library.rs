//! What functions without bitcode do for threads. Whatever is not named here may do anything.

/// What a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Does {
    /// It neither orders threads nor makes any.
    Nothing,
    /// It may order threads, but makes none.
    Synchronises,
    /// It may order threads and make some, or call back.
    Anything,
}

/// By linkage name.
pub fn does(name: &str) -> Does {
    let listed = |names: &[&str]| {
        names.iter().any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *known == name,
        })
    };
    if listed(&QUIET) {
        Does::Nothing
    } else if listed(&ORDERING) {
        Does::Synchronises
    } else {
        Does::Anything
    }
}

/// Memory, strings, numbers, time, formatting. Output goes to no thread of the program that waits for it, as far as
/// function pairs go.
const QUIET: [&str; 83] = [
    "llvm.*",
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "posix_memalign",
    "aligned_alloc",
    "_Znwm*",
    "_Znam*",
    "_ZdlPv*",
    "_ZdaPv*",
    "mem*",
    "__mem*",
    "bcmp",
    "bzero",
    "explicit_bzero",
    "str*",
    "__str*",
    "stpcpy",
    "stpncpy",
    "ato*",
    "__isoc23_str*",
    "abs",
    "labs",
    "llabs",
    "div",
    "ldiv",
    "sqrt*",
    "pow*",
    "exp*",
    "log",
    "log2*",
    "log10*",
    "logf",
    "log1p*",
    "sin*",
    "cos*",
    "tan*",
    "asin*",
    "acos*",
    "atan*",
    "floor*",
    "ceil*",
    "round*",
    "lround*",
    "fabs*",
    "fmod*",
    "fmin*",
    "fmax*",
    "hypot*",
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "sprintf",
    "snprintf",
    "vsprintf",
    "vsnprintf",
    "__printf_chk",
    "__fprintf_chk",
    "__sprintf_chk",
    "__snprintf_chk",
    "puts",
    "fputs",
    "putchar",
    "fputc",
    "putc",
    "fwrite",
    "perror",
    "getenv",
    "secure_getenv",
    "getopt",
    "getopt_long",
    "gettimeofday",
    "clock",
    "clock_gettime",
    "time",
    "difftime",
    "__errno_location",
    "__ctype_*",
    "tolower",
    "toupper",
];

/// Locks, signals, waiting, files and processes that may be waited for.
const ORDERING: [&str; 52] = [
    "pthread_mutex_*",
    "pthread_mutexattr_*",
    "pthread_cond_*",
    "pthread_condattr_*",
    "pthread_rwlock_*",
    "pthread_rwlockattr_*",
    "pthread_barrier_*",
    "pthread_barrierattr_*",
    "pthread_spin_*",
    "pthread_attr_*",
    "pthread_join",
    "pthread_detach",
    "pthread_self",
    "pthread_equal",
    "pthread_exit",
    "pthread_setspecific",
    "pthread_getspecific",
    "mtx_*",
    "cnd_*",
    "thrd_join",
    "thrd_exit",
    "thrd_yield",
    "sem_*",
    "sched_*",
    "usleep",
    "sleep",
    "nanosleep",
    "open*",
    "close",
    "read",
    "pread*",
    "write",
    "pwrite*",
    "lseek*",
    "stat",
    "fstat",
    "lstat",
    "fopen*",
    "fdopen",
    "fclose",
    "fread",
    "fgets",
    "fgetc",
    "getc",
    "getchar",
    "fflush",
    "fseek*",
    "ftell*",
    "sysconf",
    "exit",
    "abort",
    "__assert_fail",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_may_do_anything() {
        assert_eq!(does("strlen"), Does::Nothing);
        assert_eq!(does("pthread_mutex_lock"), Does::Synchronises);
        for name in ["pthread_create", "qsort", "fork", "logger_start", "_ZNSt6thread4joinEv"] {
            assert_eq!(does(name), Does::Anything, "{name}");
        }
    }
}
