//@ expect: real
//@ stages: hunt scan
// A constructor starts a thread before main; main does not wait for it before it writes.
#include <pthread.h>

pthread_t early;
int mode = 1, copy;

static void *worker(void *arg) {
    copy = mode; // RACE!(a)
    return arg;
}

__attribute__((constructor)) static void start(void) {
    pthread_create(&early, 0, worker, 0);
}

int main(void) {
    mode = 2; // RACE!(a)
    pthread_join(early, 0);
    return copy == 0;
}
