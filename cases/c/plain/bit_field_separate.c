//@ expect: none
//@ stages: hunt scan
// A zero-width bit-field puts the next one into a memory location of its own.
#include <pthread.h>

struct flags {
    unsigned ready : 1;
    unsigned : 0;
    unsigned count : 7;
} flags;

static void *set_ready(void *arg) {
    flags.ready = 1;
    return arg;
}

static void *set_count(void *arg) {
    flags.count = 9;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, set_ready, 0);
    pthread_create(&u, 0, set_count, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return flags.ready + flags.count != 10;
}
