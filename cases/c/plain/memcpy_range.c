//@ expect: real
// A block copy reads a range; another thread writes one byte in its middle.
#include <pthread.h>
#include <string.h>

char source[200], target[200];
size_t length = 150;

static void *copy(void *arg) {
    memcpy(target, source, length); // RACE!(a)
    return arg;
}

static void *touch(void *arg) {
    source[149] = 'x'; // RACE!(a)
    source[150] = 'y';
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, copy, 0);
    pthread_create(&u, 0, touch, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return target[0];
}
