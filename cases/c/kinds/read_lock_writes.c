//@ expect: real
//@ stages: scan
// Written under a lock that is held for reading.
#include <pthread.h>
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value;

static void *worker(void *arg) {
    pthread_rwlock_rdlock(&lock);
    value++; // RACE!(a)
    pthread_rwlock_unlock(&lock);
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
