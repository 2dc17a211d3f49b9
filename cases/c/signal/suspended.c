//@ expect: none
// `sigsuspend` returns when a handler has run, also that of a signal which the kernel delivers by itself (SIGSYS).
#include <assert.h>
#include <pthread.h>
#include <signal.h>

static volatile int handled;

static void handler(int signal)
{
    (void)signal;
    handled++;
}

static void *suspends(void *p)
{
    sigset_t old, all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    raise(SIGSYS);
    assert(!handled);
    sigdelset(&all, SIGSYS);
    sigsuspend(&all);
    assert(handled == 1);
    raise(SIGUSR1);
    sigaddset(&all, SIGSYS);
    sigdelset(&all, SIGUSR1);
    sigsuspend(&all);
    assert(handled == 2);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    return p;
}

int main(void)
{
    pthread_t t;
    signal(SIGSYS, handler);
    signal(SIGUSR1, handler);
    pthread_create(&t, 0, suspends, 0);
    return pthread_join(t, 0);
}
