//@ expect: real
//@ stages: hunt scan
// A function with a static variable is called by two threads.
#include <pthread.h>

static long next_id(void) {
    static volatile long id = 100;
    id = id + 1; // RACE!(a)
    return 0;
}

static void *worker(void *arg) {
    (void)arg;
    return (void *)next_id();
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
