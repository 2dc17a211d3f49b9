//@ expect: none
// A timer of the processor's time: it runs out while somebody works, if only in a loop, and not while all sleep.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_int ticks, slept;

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

static void *sleeps(void *p)
{
    int before = ticks;
    usleep(200000);
    slept = ticks - before;
    return p;
}

int main(void)
{
    pthread_t t;
    struct itimerval left, every = {{0, 10000}, {0, 10000}}, none = {{0, 0}, {0, 0}};
    signal(SIGPROF, tick);
    assert(setitimer(ITIMER_PROF, &every, 0) == 0);
    pthread_create(&t, 0, sleeps, 0);
    pthread_join(t, 0);
    assert(slept < 10);
    while (ticks < 5)
        ;
    assert(getitimer(ITIMER_PROF, &left) == 0 && left.it_interval.tv_usec == 10000);
    return setitimer(ITIMER_PROF, &none, 0);
}
