//@ expect: real
//@ stages: hunt scan
// volatile is no synchronisation: the flag races, and so does what it is meant to publish.
#include <pthread.h>
#include <sched.h>

volatile int ready;
int payload;

static void *producer(void *arg) {
    payload = 42; // RACE!(data)
    ready = 1;    // RACE!(flag)
    return arg;
}

static void *consumer(void *arg) {
    (void)arg;
    while (!ready) // RACE!(flag)
        sched_yield();
    return (void *)(long)payload; // RACE!(data)
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, consumer, 0);
    pthread_create(&u, 0, producer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
