//@ expect: none
// A spin lock by hand: compare-exchange takes it, a release store gives it back.
#include <pthread.h>
#include <stdatomic.h>

atomic_int word;
int counter;

static void lock(void) {
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed))
        expected = 0;
}

static void unlock(void) {
    atomic_store_explicit(&word, 0, memory_order_release);
}

static void *worker(void *arg) {
    for (int i = 0; i < 3; i++) {
        lock();
        counter++;
        unlock();
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter != 6;
}
