//@ expect: none
// A detached thread ends; the next one gets its stack, and with it the same addresses.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

atomic_int ended;

static void fill(volatile int *cells, int n) {
    for (int i = 0; i < n; i++)
        cells[i] = i;
}

static void *worker(void *arg) {
    volatile int cells[100];
    fill(cells, 100);
    atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
    return arg;
}

int main(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        pthread_create(&t, &attr, worker, 0);
        while (atomic_load_explicit(&ended, memory_order_relaxed) <= i)
            sched_yield();
        for (int k = 0; k < 20; k++)
            sched_yield();
    }
    return 0;
}
