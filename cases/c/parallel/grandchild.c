//@ expect: real
//@ stages: scan
// A thread that a thread created outlives it.
#include <pthread.h>
int value;

static void *grandchild(void *arg) {
    value++; // RACE!(a)
    return arg;
}

static void *child(void *arg) {
    pthread_t t;
    pthread_create(&t, 0, grandchild, 0);
    pthread_detach(t);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, child, 0);
    pthread_join(t, 0);
    value++; // RACE!(a)
    return 0;
}
