//@ expect: real
// A reference count that is no atomic: the count races, and so does the free with the other's count.
#include <pthread.h>
#include <stdlib.h>

struct object {
    volatile int references;
};

static void *worker(void *arg) {
    struct object *o = arg;
    int left = --o->references; // RACE!(count) RACE!(free)
    if (left == 0)
        free(o); // RACE!(free)
    return 0;
}

int main(void) {
    struct object *o = malloc(sizeof *o);
    pthread_t t, u;
    if (!o)
        return 0;
    o->references = 2;
    pthread_create(&t, 0, worker, o);
    pthread_create(&u, 0, worker, o);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
