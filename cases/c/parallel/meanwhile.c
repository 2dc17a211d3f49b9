//@ expect: real
//@ stages: scan
// While the thread runs.
#include <pthread.h>
int value;

static void *worker(void *arg) {
    value++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    value = 1; // RACE!(a)
    pthread_join(t, 0);
    return value == 0;
}
