//@ expect: harmful(hang)
// The worker resets the stop flag when it begins; a stop that came before is lost, and it never ends.
#include <pthread.h>
#include <unistd.h>

volatile int stop = 1;

static void *worker(void *arg) {
    stop = 0;     // RACE!(ww)
    while (!stop) // RACE!(rw)
        ;
    return arg;
}

static void *stopper(void *arg) {
    stop = 1; // RACE!(ww) RACE!(rw)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    usleep(2000);
    pthread_create(&u, 0, stopper, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
