//@ expect: none
// Relaxed atomics do not race with each other, whatever they are used for.
#include <pthread.h>
#include <stdatomic.h>

atomic_long hits;
_Atomic unsigned char level;
_Atomic(void *) last;

static void *worker(void *arg) {
    for (int i = 0; i < 3; i++) {
        atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed);
        atomic_fetch_or_explicit(&level, 1u << i, memory_order_relaxed);
        atomic_store_explicit(&last, arg, memory_order_relaxed);
    }
    return atomic_load_explicit(&last, memory_order_relaxed);
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &t);
    pthread_create(&u, 0, worker, &u);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return hits != 6 || level != 7;
}
