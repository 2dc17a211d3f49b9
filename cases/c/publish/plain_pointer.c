//@ expect: real
// A block is published by a plain pointer: the pointer races, and so does what it points to.
#include <pthread.h>
#include <stdlib.h>

struct item {
    long value;
};
struct item *published;

static void *publisher(void *arg) {
    struct item *p = malloc(sizeof *p);
    if (!p)
        abort();
    p->value = 3;  // RACE!(value)
    published = p; // RACE!(pointer)
    return arg;
}

static void *user(void *arg) {
    struct item *p = published; // RACE!(pointer)
    (void)arg;
    if (p)
        return (void *)p->value; // RACE!(value)
    return 0;
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
