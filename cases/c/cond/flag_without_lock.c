//@ expect: harmful(deadlock)
//@ stages: hunt scan
// The flag is set without the mutex. If it is set between the waiter's test and its wait, the signal
// meets nobody and the waiter sleeps for good.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready;

static void *waiter(void *arg) {
    pthread_mutex_lock(&lock);
    while (!ready) // RACE!(a)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *signaller(void *arg) {
    ready = 1; // RACE!(a)
    pthread_cond_signal(&changed);
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
