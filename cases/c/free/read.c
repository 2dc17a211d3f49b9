//@ expect: harmful(use-after-free)
// A block is read by one thread and freed by another.
#include <pthread.h>
#include <stdlib.h>

struct item {
    long a, b;
} *item;

static void *reader(void *arg) {
    (void)arg;
    return (void *)item->b; // RACE!(a)
}

static void *owner(void *arg) {
    free(item); // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    item = calloc(1, sizeof *item);
    if (!item)
        return 0;
    pthread_create(&t, 0, reader, 0);
    pthread_create(&u, 0, owner, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
