//@ expect: real
//@ stages: scan
// A lock of which nothing is known is given back: it may be the one that is held.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int data;

static void *worker(void *arg) {
    pthread_mutex_t *other;
    if (arg)
        other = &lock;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(arg ? other : (pthread_mutex_t *)arg + 1);
    data = 1; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, &data);
    pthread_mutex_lock(&lock);
    data = 2; // RACE!(a)
    pthread_mutex_unlock(&lock);
    pthread_join(t, 0);
    return 0;
}
