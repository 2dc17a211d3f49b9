//@ expect: none
//@ stages: scan
// A hand-made spin lock: compare-exchange from 0, store of 0.
#include <pthread.h>
#include <stdatomic.h>
atomic_int word;
int value;

static void take(void) {
    int zero = 0;
    while (!atomic_compare_exchange_weak(&word, &zero, 1))
        zero = 0;
}

static void *worker(void *arg) {
    take();
    value++;
    atomic_store(&word, 0);
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
