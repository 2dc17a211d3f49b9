//@ expect: none
// Clocks that count work stand still while a thread sleeps; the others, that of `times` too, do not.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static atomic_int first;

static void *other(void *p) {
    first = 1;
    return p;
}

static void *sleeper(void *p) {
    sched_yield();
    if (first)
        return p;
    struct tms used;
    struct timespec before, after;
    clock_t start = times(&used);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    usleep(1500000);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    assert(after.tv_sec - before.tv_sec < 1 && clock() < CLOCKS_PER_SEC);
    assert(times(&used) - start >= 149);
    return p;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, other, 0);
    pthread_create(&u, 0, sleeper, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
