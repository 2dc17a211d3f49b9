//@ expect: none
//@ stages: hunt scan
// A timed wait that may run out before the signal comes: both ways end well.
#include <errno.h>
#include <pthread.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready, gave_up;

static void *waiter(void *arg) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&lock);
    while (!ready && !gave_up)
        if (pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT)
            gave_up = 1;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *signaller(void *arg) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, waiter, 0);
    pthread_create(&u, 0, signaller, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return !ready;
}
