// What the kernel knows of each thread: all find their own, however often they were switched between.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

enum { THREADS = 6, ROUNDS = 20 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int handled[THREADS], children, jumps, forks, ends;
static int repaired[THREADS];
static __thread int number;
static __thread char *page;
static __thread sigjmp_buf back;

static void yield(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

// Returns to where it came from, after others ran.
static void on_fpe(int signal)
{
    for (int i = 0; i < 3; i++)
        yield();
    handled[number]++;
}

// The fault is repaired, on whichever stack for signals, or left.
static void on_segv(int signal, siginfo_t *info, void *context)
{
    for (int i = 0; i < 3; i++)
        yield();
    if (info->si_addr != page) siglongjmp(back, 1);
    assert(!mprotect(page, 4096, PROT_READ | PROT_WRITE));
    repaired[number]++;
}

static int own_name(char *name)
{
    char path[16] = "";
    int fd = open("/proc/thread-self/comm", O_RDONLY);
    int got = read(fd, path, sizeof path - 1);
    close(fd);
    return got > 0 && !strncmp(path, name, strlen(name));
}

static void *work(void *argument)
{
    number = (int)(long)argument;
    pid_t id = syscall(SYS_gettid);
    char name[16], seen[16], stack[32768];
    snprintf(name, sizeof name, "worker %d", number);
    pthread_setname_np(pthread_self(), name);
    setpriority(PRIO_PROCESS, 0, number);
    sigset_t mask, now;
    sigemptyset(&mask);
    if (number % 3 == 0) {
        sigaddset(&mask, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &mask, 0);
    }
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, told;
    if (number == 1) assert(!sigaltstack(&alternate, 0));
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ROUNDS; i++) {
        // The jump out of a handler leaves the handler's own.
        _MM_SET_ROUNDING_MODE(number % 2 ? _MM_ROUND_UP : _MM_ROUND_DOWN);
        yield();
        assert(gettid() == id && syscall(SYS_gettid) == id);
        assert(_MM_GET_ROUNDING_MODE() == (number % 2 ? _MM_ROUND_UP : _MM_ROUND_DOWN));
        yield();
        prctl(PR_GET_NAME, seen);
        assert(!strcmp(seen, name) && own_name(name));
        yield();
        assert(getpriority(PRIO_PROCESS, 0) == number);
        yield();
        assert(!sigprocmask(SIG_BLOCK, 0, &now) && sigismember(&now, SIGUSR1) == (number % 3 == 0));
        yield();
        assert(!sigaltstack(0, &told) && (told.ss_sp == stack) == (number == 1));
        raise(SIGFPE);
        yield();
        syscall(SYS_tgkill, getpid(), id, SIGFPE);
        assert(!mprotect(page, 4096, PROT_NONE));
        yield();
        *(volatile char *)page = 1;
        assert(repaired[number] == i + 1);
        assert(!sigaltstack(0, &told) && (told.ss_sp == stack) == (number == 1));
        assert(!sigprocmask(SIG_BLOCK, 0, &now) && sigismember(&now, SIGUSR1) == (number % 3 == 0));
        assert(!sigismember(&now, SIGSEGV) && gettid() == id);
        // Memory that can be run ends exchanges.
        if (ends && number == 3 && i == ROUNDS / 2) assert(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
        if (number == 2 || i == ROUNDS - 1) {
            if (!sigsetjmp(back, 1)) *(volatile int *)0 = 1;
            __atomic_add_fetch(&jumps, 1, __ATOMIC_RELAXED);
        }
        yield();
        if (forks && i % 10 == 0) {
            pid_t child = fork();
            if (!child) _exit(gettid() == getpid() ? 7 : 1);
            int status = 0;
            waitpid(child, &status, 0);
            pthread_mutex_lock(&lock);
            children += WEXITSTATUS(status) == 7;
            pthread_mutex_unlock(&lock);
        }
    }
    return 0;
}

int main(int count, char **arguments)
{
    forks = count > 1 && !strcmp(arguments[1], "fork");
    ends = count > 1 && !strcmp(arguments[1], "end");
    struct sigaction action = {.sa_handler = on_fpe};
    sigaction(SIGFPE, &action, 0);
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGSEGV, 0, &action);
    assert(action.sa_sigaction == on_segv && action.sa_flags & SA_ONSTACK);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(threads + i, 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    int all = 0;
    for (int i = 0; i < THREADS; i++)
        all += handled[i];
    assert(!setgid(getgid()));
    printf("handled %d children %d jumps %d\n", all, children, jumps);
    return 0;
}
