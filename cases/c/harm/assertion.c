//@ expect: harmful(assert)
// Check, then act: both threads may find the last place free.
#include <assert.h>
#include <pthread.h>

volatile int places = 1;

static void *book(void *arg) {
    if (places > 0) { // RACE!(rw)
        places--; // RACE!(rw) MISS(hunt:ww) no schedule of phase 1 gets both threads past the test
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, book, 0);
    pthread_create(&u, 0, book, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(places >= 0);
    return 0;
}
