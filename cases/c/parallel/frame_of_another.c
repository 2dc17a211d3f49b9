//@ expect: real
//@ stages: scan
// A variable in the frame of the thread that both come from is one.
#include <pthread.h>
#include <stdlib.h>

static void *worker(void *arg) {
    double *load = arg;
    load[0] += 1; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t a, b;
    double load[3] = {0};
    getloadavg(load, 3);
    pthread_create(&a, 0, worker, load);
    pthread_create(&b, 0, worker, load);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return load[0] < 0;
}
