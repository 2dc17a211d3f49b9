//@ expect: real
//@ stages: scan
// Used whether the lock was taken or not.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *worker(void *arg) {
    int failed = pthread_mutex_trylock(&lock);
    value++; // RACE!(a)
    if (!failed)
        pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
