//@ expect: real
// The flag is atomic but relaxed: the unlocked look does not order the table.
#include <pthread.h>
#include <stdatomic.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int initialised;
int table;

static long get(void) {
    if (!atomic_load_explicit(&initialised, memory_order_relaxed)) {
        pthread_mutex_lock(&lock);
        if (!atomic_load_explicit(&initialised, memory_order_relaxed)) {
            table = 12; // RACE!(a)
            atomic_store_explicit(&initialised, 1, memory_order_relaxed);
        }
        pthread_mutex_unlock(&lock);
    }
    return table; // RACE!(a)
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
