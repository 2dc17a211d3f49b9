//@ expect: none
// A ticket lock: nobody compares and exchanges, the turn is passed on by a release store.
#include <pthread.h>
#include <stdatomic.h>

atomic_uint next_ticket, serving;
int counter;

static void *worker(void *arg) {
    for (int i = 0; i < 3; i++) {
        unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
        while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
            ;
        counter++;
        atomic_store_explicit(&serving, mine + 1, memory_order_release);
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
