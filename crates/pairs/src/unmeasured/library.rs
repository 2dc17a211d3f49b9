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
    let listed = |names: &str| {
        names.split(' ').any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => known == name,
        })
    };
    if listed(QUIET) {
        Does::Nothing
    } else if listed(ORDERING) {
        Does::Synchronises
    } else {
        Does::Anything
    }
}

/// Memory, strings, numbers, time, formatting, exceptions, handlers for the end. Output goes to no thread of the program
/// that waits for it, as far as function pairs go.
const QUIET: &str = "\
    llvm.* malloc calloc realloc reallocarray free posix_memalign aligned_alloc _Znwm* _Znam* _ZdlPv* \
    _ZdaPv* mem* __mem* bcmp bzero explicit_bzero str* __str* stpcpy stpncpy ato* __isoc23_str* abs labs \
    llabs div ldiv sqrt* pow* exp* log log2* log10* logf log1p* sin* cos* tan* asin* acos* atan* floor* \
    ceil* round* lround* fabs* fmod* fmin* fmax* hypot* printf fprintf vprintf vfprintf sprintf snprintf \
    vsprintf vsnprintf __printf_chk __fprintf_chk __sprintf_chk __snprintf_chk puts fputs putchar fputc putc \
    fwrite perror getenv secure_getenv getopt getopt_long gettimeofday clock clock_gettime time difftime \
    __errno_location __ctype_* tolower toupper __cxa_atexit atexit __cxa_allocate_exception \
    __cxa_free_exception __cxa_throw __cxa_rethrow __cxa_begin_catch __cxa_end_catch __cxa_pure_virtual \
    _ZSt9terminatev _ZNSt8ios_base4Init* _ZNSt7__cxx1112basic_string* _ZNKSt7__cxx1112basic_string* \
    _ZSt17__throw_* _ZSt19__throw_* _ZSt20__throw_length_error* _ZSt20__throw_out_of_range* _ZSt24__throw_* \
    _ZSt25__throw_* _ZSt28__throw_* _ZSt18_Rb_tree_* _ZSt29_Rb_tree_* _ZSt16__ostream_insert* \
    _ZStlsISt11char_traits* _ZSt4endl* _ZNSo* _ZNKSt9exception* _ZNSt9exception* _ZNSt11logic_error* \
    _ZNSt13runtime_error* _ZNSt12length_error* _ZNSt12out_of_range* isatty getpid rand srand rand_r random \
    srandom drand48 lrand48 localtime_r gmtime_r mktime";

/// Locks, signals, waiting, files and processes that may be waited for.
const ORDERING: &str = "\
    pthread_mutex_* pthread_mutexattr_* pthread_cond_* pthread_condattr_* pthread_rwlock_* \
    pthread_rwlockattr_* pthread_barrier_* pthread_barrierattr_* pthread_spin_* pthread_attr_* pthread_join \
    pthread_detach pthread_self pthread_equal pthread_exit pthread_setspecific pthread_getspecific mtx_* \
    cnd_* thrd_join thrd_exit thrd_yield sem_* sched_* usleep sleep nanosleep open* close read pread* write \
    pwrite* lseek* stat fstat lstat fopen* fdopen fclose fread fgets fgetc getc getchar fflush fseek* ftell* \
    sysconf __sysconf getloadavg stat64 fstat64 lstat64 getuid geteuid getgid getegid ungetc exit abort \
    __assert_fail __cxa_guard_* pthread_sigmask pthread_kill pthread_setname_np pthread_setaffinity_np \
    pthread_getaffinity_np pthread_key_* pthread_cancel pthread_setcancel* sig* signal raise kill alarm \
    _exit quick_exit poll select fcntl ioctl unlink remove rename chmod fchmod chown fchown utime* umask \
    access mkdir fileno feof ferror clearerr setvbuf rewind ftruncate mmap munmap madvise getrlimit \
    setrlimit _ZSt20__throw_system_error* dup* pipe*";

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
