//@ expect: real
//@ stages: scan
// Atomic on one side only.
#include <pthread.h>
#include <stdatomic.h>
int value;

static void *first(void *arg) {
    __atomic_fetch_add(&value, 1, __ATOMIC_SEQ_CST); // RACE!(a)
    return arg;
}

static void *second(void *arg) {
    value++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, first, 0);
    pthread_create(&u, 0, second, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
