//@ expect: none
// A block is published with release; a reader that finds nothing goes away.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct item {
    long value;
};
_Atomic(struct item *) published;

static void *publisher(void *arg) {
    struct item *p = malloc(sizeof *p);
    if (!p)
        abort();
    p->value = 3;
    atomic_store_explicit(&published, p, memory_order_release);
    return arg;
}

static void *user(void *arg) {
    struct item *p = atomic_load_explicit(&published, memory_order_consume);
    (void)arg;
    return p ? (void *)p->value : 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, publisher, 0);
    pthread_create(&u, 0, user, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    free(published);
    return 0;
}
