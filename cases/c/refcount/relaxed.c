//@ expect: real
// The last reference is given up relaxed: the free is not ordered after the other thread's use.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    int payload;
};
atomic_int references = 2;

static void *worker(void *arg) {
    struct object *o = arg;
    long seen = o->payload; // RACE!(a)
    if (atomic_fetch_sub_explicit(&references, 1, memory_order_relaxed) == 1)
        free(o); // RACE!(a)
    return (void *)seen;
}

int main(void) {
    struct object *o = malloc(sizeof *o);
    pthread_t t, u;
    if (!o)
        return 0;
    o->payload = 6;
    pthread_create(&t, 0, worker, o);
    pthread_create(&u, 0, worker, o);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
