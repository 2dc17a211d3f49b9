//@ expect: none
// Signals that the program sends itself are read from a descriptor: those for the process, for a thread, by a timer.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int descriptor;

static int next(void)
{
    struct signalfd_siginfo info;
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    assert(poll(&one, 1, 5000) == 1);
    assert(read(descriptor, &info, sizeof info) == sizeof info);
    assert(info.ssi_signo != SIGUSR2 || info.ssi_int == 5);
    return (int)info.ssi_signo;
}

static void *sends(void *p)
{
    kill(getpid(), SIGTERM);
    return p;
}

int main(void)
{
    pthread_t t;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    raise(SIGUSR1);
    descriptor = signalfd(-1, &set, 0);
    assert(next() == SIGUSR1);
    pthread_create(&t, 0, sends, 0);
    assert(next() == SIGTERM);
    pthread_join(t, 0);
    sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 5});
    assert(next() == SIGUSR2);
    ualarm(1000, 0);
    assert(next() == SIGALRM);
    return 0;
}
