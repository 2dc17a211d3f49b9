//@ expect: real
//@ stages: hunt scan
// The waiter takes a time-out for the signal and reads the data that the other still writes.
#include <pthread.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready, data;

static void *waiter(void *arg) {
    struct timespec until;
    (void)arg;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&lock);
    if (!ready)
        pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
    return (void *)(long)data; // RACE!(a)
}

static void *signaller(void *arg) {
    data = 9; // RACE!(a)
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
    return 0;
}
