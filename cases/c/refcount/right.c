//@ expect: none
// Taking a reference may be relaxed; giving it up releases, and the last one acquires.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int references;
    int payload;
};

static void put(struct object *o) {
    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_acq_rel) == 1)
        free(o);
}

static void *worker(void *arg) {
    struct object *o = arg;
    atomic_fetch_add_explicit(&o->references, 1, memory_order_relaxed);
    long seen = o->payload;
    put(o);
    put(o);
    return (void *)seen;
}

int main(void) {
    struct object *o = malloc(sizeof *o);
    pthread_t t, u;
    if (!o)
        return 0;
    atomic_init(&o->references, 3);
    o->payload = 6;
    pthread_create(&t, 0, worker, o);
    pthread_create(&u, 0, worker, o);
    put(o);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
