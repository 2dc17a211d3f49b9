//@ expect: none
// The last reference is given up with release alone, and an acquire fence stands before the free.
// Clang's TSan does not model stand-alone fences and reports the free.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int references;
    int payload[2];
};

static void *worker(void *arg) {
    struct object *o = arg;
    static atomic_int number;
    o->payload[atomic_fetch_add_explicit(&number, 1, memory_order_relaxed)] = 1;
    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_release) == 1) {
        atomic_thread_fence(memory_order_acquire);
        free(o);
    }
    return 0;
}

int main(void) {
    struct object *o = malloc(sizeof *o);
    pthread_t t, u;
    if (!o)
        return 0;
    atomic_init(&o->references, 2);
    pthread_create(&t, 0, worker, o);
    pthread_create(&u, 0, worker, o);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
