//@ expect: none
// A one-place mailbox: the pointer is put in with release and taken out by an acquiring exchange.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct letter {
    int text;
};
_Atomic(struct letter *) slot;

static void *post(void *arg) {
    struct letter *l = malloc(sizeof *l);
    if (!l)
        abort();
    l->text = 7;
    atomic_store_explicit(&slot, l, memory_order_release);
    return arg;
}

static void *fetch(void *arg) {
    struct letter *l;
    long text;
    (void)arg;
    while (!(l = atomic_exchange_explicit(&slot, 0, memory_order_acquire)))
        ;
    text = l->text;
    free(l);
    return (void *)text;
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, fetch, 0);
    pthread_create(&u, 0, post, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 7;
}
