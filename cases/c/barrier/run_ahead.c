//@ expect: real
// One thread runs ahead into the second round of the barrier while the other still leaves the first.
// A barrier clock without generations lets the later release order the earlier leaving.
#include <pthread.h>

pthread_barrier_t barrier;
int early, late;

static void *fast(void *arg) {
    pthread_barrier_wait(&barrier);
    late = 1; // RACE!(a)
    pthread_barrier_wait(&barrier);
    return arg;
}

static void *slow(void *arg) {
    pthread_barrier_wait(&barrier);
    early = late; // RACE!(a)
    pthread_barrier_wait(&barrier);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, fast, 0);
    pthread_create(&u, 0, slow, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return late != 1;
}
