//@ expect: real
//@ stages: scan
// A callee that gives back a lock of its caller: L- takes it out of the caller's lockset.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void careless(void) { pthread_mutex_unlock(&lock); }

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    careless();
    value++; // RACE!(a)
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
