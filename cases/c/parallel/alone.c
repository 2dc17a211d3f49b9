//@ expect: none
//@ stages: scan
// Only one thread ever uses it.
#include <pthread.h>
int value, other;

static void *worker(void *arg) {
    value++;
    return arg;
}

static void *idle(void *arg) {
    other++;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, idle, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
