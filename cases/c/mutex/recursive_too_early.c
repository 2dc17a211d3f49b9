//@ expect: real
//@ stages: hunt scan
// One unlock too many: the write comes after the recursive mutex was given back in full.
#define _GNU_SOURCE
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
int counter;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
    counter++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
