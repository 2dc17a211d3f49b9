//@ expect: real
// The usual sequence lock: readers copy plain data and throw the copy away if the sequence moved. The
// machine does what is meant, but C11 calls the copy a data race (undefined behaviour whether or not it
// is thrown away), compilers may use that, and the two accesses can be brought together: so it is one.
#include <pthread.h>
#include <stdatomic.h>

atomic_uint sequence;
int x;

static void *writer(void *arg) {
    atomic_fetch_add_explicit(&sequence, 1, memory_order_acquire);
    atomic_thread_fence(memory_order_release);
    x = 5; // RACE!(a)
    atomic_fetch_add_explicit(&sequence, 1, memory_order_release);
    return arg;
}

static void *reader(void *arg) {
    unsigned before, after;
    int copy;
    (void)arg;
    do {
        before = atomic_load_explicit(&sequence, memory_order_acquire);
        copy = x; // RACE!(a)
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&sequence, memory_order_relaxed);
    } while (before != after || before % 2);
    return (void *)(long)copy;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, reader, 0);
    pthread_create(&u, 0, writer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return x != 5;
}
