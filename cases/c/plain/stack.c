//@ expect: real
//@ stages: hunt scan
// A local variable of main, lent to two threads.
#include <pthread.h>

static void *worker(void *arg) {
    int *sum = arg;
    *sum += 3; // RACE!(a)
    return 0;
}

int main(void) {
    int sum = 0;
    pthread_t t, u;
    pthread_create(&t, 0, worker, &sum);
    pthread_create(&u, 0, worker, &sum);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return sum == 0;
}
