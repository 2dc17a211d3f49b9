//@ expect: real
//@ stages: hunt scan
// The main thread itself races with the thread that it created; after the join it does not.
#include <pthread.h>

long total;

static void *worker(void *arg) {
    total += 2; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    total += 1; // RACE!(a)
    pthread_join(t, 0);
    return total == 0;
}
