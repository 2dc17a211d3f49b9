//@ expect: none
// The flag is released and acquired; the table is read without a lock only after the flag was seen.
// A thread that waited for the lock instead finds the table ordered by the lock: suspected, not real.
#include <pthread.h>
#include <stdatomic.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int initialised;
int table;

static long get(void) {
    if (!atomic_load_explicit(&initialised, memory_order_acquire)) {
        pthread_mutex_lock(&lock);
        if (!atomic_load_explicit(&initialised, memory_order_relaxed)) {
            table = 12; // MAY(hunt:a) the lock orders it when both came to it
            atomic_store_explicit(&initialised, 1, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    return table; // MAY(hunt:a) the lock orders it when both came to it
}

static void *worker(void *arg) {
    (void)arg;
    return (void *)get();
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return table != 12;
}
