//@ expect: harmful(exit-status)
// A lost update shows in the exit status.
#include <pthread.h>

volatile int counter;

static void *worker(void *arg) {
    int copy = counter; // RACE!(rw)
    counter = copy + 1; // RACE!(rw) RACE!(ww)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 3 ? 0 : 3;
}
