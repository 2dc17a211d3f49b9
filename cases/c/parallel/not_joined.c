//@ expect: real
//@ stages: scan
// Joined is another thread.
#include <pthread.h>
int value;

static void *worker(void *arg) {
    value++; // RACE!(a)
    return arg;
}

static void *other(void *arg) { return arg; }

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, other, 0);
    pthread_join(u, 0);
    value++; // RACE!(a)
    pthread_join(t, 0);
    return value == 0;
}
