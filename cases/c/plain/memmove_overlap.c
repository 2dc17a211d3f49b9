//@ expect: real
//@ stages: hunt scan
// memmove writes a range that memset of another thread writes too.
#include <pthread.h>
#include <string.h>

char buffer[64];
size_t n = 40;

static void *shift(void *arg) {
    memmove(buffer + 8, buffer, n); // RACE!(a)
    return arg;
}

static void *clear(void *arg) {
    memset(buffer + 47, 0, n - 30); // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, shift, 0);
    pthread_create(&u, 0, clear, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return buffer[50];
}
