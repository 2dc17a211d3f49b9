//@ expect: harmful(abort)
// Two parts of one state are written one by one; a reader between them sees what must not be.
#include <pthread.h>
#include <stdlib.h>

volatile int width = 2, area = 4;

static void *resize(void *arg) {
    width = 3; // RACE!(w)
    area = 9; // RACE!(a)
    return arg;
}

static void *check(void *arg) {
    int w = width; // RACE!(w)
    int a = area;  // RACE!(a)
    if (w * w != a)
        abort();
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, check, 0);
    pthread_create(&u, 0, resize, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
