//@ expect: real
//@ stages: scan
//@ flags: -D_GNU_SOURCE
// Taken twice, given back twice, then used.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
int value;

static void helper(void) {
    pthread_mutex_lock(&lock);
    value++; // RACE!(b)
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
}

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    helper();
    value++; // RACE!(a) RACE!(b)
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
