//@ expect: none
// The sequence lock that C11 allows: the data are relaxed atomics, ordered by fences.
#include <pthread.h>
#include <stdatomic.h>

atomic_uint sequence;
atomic_int x, y;

static void *writer(void *arg) {
    atomic_store_explicit(&sequence, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&x, 5, memory_order_relaxed);
    atomic_store_explicit(&y, 5, memory_order_relaxed);
    atomic_store_explicit(&sequence, 2, memory_order_release);
    return arg;
}

static void *reader(void *arg) {
    unsigned before, after;
    int a, b;
    (void)arg;
    do {
        before = atomic_load_explicit(&sequence, memory_order_acquire);
        a = atomic_load_explicit(&x, memory_order_relaxed);
        b = atomic_load_explicit(&y, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&sequence, memory_order_relaxed);
    } while (before != after || before % 2);
    return (void *)(long)(a - b);
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, writer, 0);
    pthread_create(&u, 0, reader, 0);
    pthread_join(t, 0);
    pthread_join(u, &r);
    return r != 0;
}
