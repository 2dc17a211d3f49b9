//@ expect: real
// A timer whose end makes a thread: it comes in time, by the clock that the program reads, and two of them race.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int rung, prepared;
int unprotected;

static void rings(union sigval value)
{
    unprotected++; // RACE!(a)
    pthread_mutex_lock(&m);
    rung += value.sival_int - prepared;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
}

int main(void)
{
    timer_t timer;
    struct timespec limit;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = rings, .sigev_value.sival_int = 2};
    struct itimerspec every = {{0, 10000000}, {0, 10000000}}, none = {{0, 0}, {0, 0}};
    assert(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    prepared = 1;
    timer_settime(timer, 0, &every, 0);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 5;
    pthread_mutex_lock(&m);
    while (rung < 3)
        assert(pthread_cond_timedwait(&c, &m, &limit) == 0);
    pthread_mutex_unlock(&m);
    timer_settime(timer, 0, &none, 0);
    return timer_delete(timer);
}
