//@ expect: none
// Both threads build the block, one gets it in by compare-exchange, the loser frees its own and uses the
// winner's.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Atomic(long *) table;

static long *get(long value) {
    long *t = atomic_load_explicit(&table, memory_order_acquire);
    if (t)
        return t;
    long *mine = malloc(sizeof *mine);
    if (!mine)
        abort();
    *mine = value;
    if (atomic_compare_exchange_strong_explicit(&table, &t, mine, memory_order_acq_rel, memory_order_acquire))
        return mine;
    free(mine);
    return t;
}

static void *worker(void *arg) {
    return (void *)*get((long)arg);
}

int main(void) {
    pthread_t t, u;
    void *r, *s;
    pthread_create(&t, 0, worker, (void *)5);
    pthread_create(&u, 0, worker, (void *)6);
    pthread_join(t, &r);
    pthread_join(u, &s);
    free(table);
    return r != s;
}
