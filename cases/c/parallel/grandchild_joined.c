//@ expect: none
//@ stages: scan
// A thread that a thread created, and waited for.
#include <pthread.h>
int value;

static void *grandchild(void *arg) {
    value++;
    return arg;
}

static void *child(void *arg) {
    pthread_t t;
    pthread_create(&t, 0, grandchild, 0);
    pthread_join(t, 0);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, child, 0);
    pthread_join(t, 0);
    value++;
    return 0;
}
