//@ expect: harmful(double-free)
// Two threads may both find the block there and free it.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

void *cache;

static void *drop(void *arg) {
    void *c = cache; // RACE!(rw)
    if (c) {
        free(c);   // MISS(hunt:free) no schedule of phase 1 gets both threads past the test
        cache = 0; // RACE!(rw)
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    cache = malloc(5000);
    pthread_create(&t, 0, drop, 0);
    usleep(2000); // the ordinary run is well
    pthread_create(&u, 0, drop, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return cache != 0;
}
