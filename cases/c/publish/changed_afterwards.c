//@ expect: real
// Published properly, but the publisher goes on writing into the block.
#include <pthread.h>
#include <stdatomic.h>

struct {
    int ready;
    char apart[60];
    int late;
} block;
_Atomic int published;

static void *publisher(void *arg) {
    block.ready = 1;
    atomic_store_explicit(&published, 1, memory_order_release);
    block.late = 1; // RACE!(a)
    return arg;
}

static void *user(void *arg) {
    long sum = 0;
    (void)arg;
    if (atomic_load_explicit(&published, memory_order_acquire)) {
        sum = block.ready;
        sum += block.late; // RACE!(a)
    }
    return (void *)sum;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, publisher, 0);
    pthread_create(&u, 0, user, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
