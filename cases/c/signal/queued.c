//@ expect: none
// Real-time signals are delivered as often as they were sent, each with its own value; others once.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
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
    for (int n = 1; n <= 5; n++) {
        union sigval value = {.sival_int = n};
        pthread_sigqueue(pthread_self(), SIGRTMIN, value);
        kill(getpid(), SIGUSR1);
    }
    struct timespec now = {0, 0};
    siginfo_t info;
    int usual = 0, queued = 0;
    for (int came; (came = sigtimedwait(&set, &info, &now)) > 0;)
        if (came == SIGUSR1)
            usual++;
        else
            assert(info.si_value.sival_int == ++queued);
    assert(usual == 1 && queued == 5);
    return p;
}

int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t t, u;
    pthread_create(&t, 0, other, 0);
    pthread_create(&u, 0, sender, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
