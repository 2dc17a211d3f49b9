//@ expect: misuse
//@ levels: O1 what the calls do is the same at each
// A condition variable is waited for with one mutex at a time, which the caller holds; neither is destroyed meanwhile.
#include <pthread.h>
#include <time.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER, gone = PTHREAD_COND_INITIALIZER;
struct timespec soon, later;

static void *waits(void *mutex) {
    pthread_mutex_lock(mutex);
    pthread_cond_timedwait(&changed, mutex, &later); // RACE!(two) RACE!(mutex)
    return mutex;
}

static void *waits_too(void *arg) {
    pthread_mutex_lock(&a);
    pthread_cond_timedwait(&gone, &a, &later); // RACE!(condition)
    pthread_mutex_unlock(&a);
    return arg;
}

int main(void) {
    pthread_t t, u;
    clock_gettime(CLOCK_REALTIME, &soon);
    later = soon;
    later.tv_nsec += 50000000;
    later.tv_sec += later.tv_nsec / 1000000000;
    later.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&changed, &a, &soon); // RACE!(unheld)
    pthread_mutex_unlock(&a);

    pthread_create(&t, 0, waits, &b);
    pthread_create(&u, 0, waits_too, 0);
    nanosleep(&(struct timespec){0, 1000000}, 0);
    pthread_mutex_lock(&a);
    pthread_cond_timedwait(&changed, &a, &soon); // RACE!(two)
    pthread_mutex_unlock(&a);
    pthread_cond_destroy(&gone); // RACE!(condition)
    pthread_mutex_destroy(&b); // RACE!(mutex)
    return 0;
}
