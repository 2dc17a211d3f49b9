//@ expect: none
// What comes with a signal that a thread sends within the process: who sent it, and the value.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int first;
static sigset_t set;

static void *other(void *p) {
    first = 1;
    return p;
}

static void *sender(void *p) {
    sched_yield();
    if (first)
        return p;
    siginfo_t info;
    union sigval value = {.sival_ptr = &set};
    pthread_sigqueue(pthread_self(), SIGUSR1, value);
    assert(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_value.sival_ptr == &set);
    kill(getpid(), SIGUSR1);
    assert(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_pid == getpid() && info.si_code == SI_USER);
    return p;
}

int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t t, u;
    pthread_create(&t, 0, other, 0);
    pthread_create(&u, 0, sender, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
