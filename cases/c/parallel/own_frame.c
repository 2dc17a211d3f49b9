//@ expect: none
//@ stages: scan
// Each thread has a frame of its own, whoever else was told of a variable in it.
#include <pthread.h>
#include <stdlib.h>

static void *worker(void *arg) {
    double load[3] = {0};
    getloadavg(load, 3);
    load[0] += 1;
    return load[0] < 0 ? arg : 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
