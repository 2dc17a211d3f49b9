//@ expect: real
// Freed memory is read in every run, whoever comes first: that is laid to no schedule. The counter races beside it.
#include <pthread.h>
#include <stdlib.h>

volatile int counter;
_Atomic long seen;

static void *worker(void *arg) {
    long *block = malloc(64);
    block[4] = 3;
    free(block);
    seen = ((volatile long *)block)[4];
    counter++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
