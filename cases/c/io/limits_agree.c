//@ expect: none
// Every wait with a time limit takes as long by the clocks as it says.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static long now(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? 0 : t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct timespec *later(void)
{
    static struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += 20000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return &t;
}

#define TAKES(clock, call) (begun = now(clock), assert(call), assert(now(clock) - begun >= 18))

static void *waits(void *p)
{
    int ends[2];
    long begun;
    char byte;
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, 20000}, sizeof(struct timeval));
    TAKES(CLOCK_MONOTONIC, recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN);
    TAKES(CLOCK_MONOTONIC, poll(&one, 1, 20) == 0);
    TAKES(CLOCK_REALTIME, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, later(), 0) == 0);
    TAKES(CLOCK_REALTIME, sem_clockwait(&s, CLOCK_MONOTONIC, later()) == -1 && errno == ETIMEDOUT);
    pthread_mutex_lock(&m);
    TAKES(CLOCK_MONOTONIC, pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, later()) == ETIMEDOUT);
    pthread_mutex_unlock(&m);
    return p;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, waits, 0);
    return pthread_join(t, 0);
}
