//@ expect: none
//@ stages: scan
// A hand-made lock by exchange.
#include <pthread.h>
#include <stdatomic.h>
atomic_flag flag = ATOMIC_FLAG_INIT;
int value;

static void *worker(void *arg) {
    while (atomic_flag_test_and_set(&flag))
        ;
    value++;
    atomic_flag_clear(&flag);
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
