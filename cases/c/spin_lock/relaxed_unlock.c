//@ expect: real
// The lock excludes, but its unlock is relaxed: the next holder is not ordered after the last.
#include <pthread.h>
#include <stdatomic.h>

atomic_int word;
int counter;

static void *worker(void *arg) {
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed))
        expected = 0;
    counter++; // RACE!(a)
    atomic_store_explicit(&word, 0, memory_order_relaxed);
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
