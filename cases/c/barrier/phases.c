//@ expect: none
// Each thread writes its own cell, then all read their neighbours' after the barrier, three times.
#include <pthread.h>

#define N 3
pthread_barrier_t barrier;
long old_row[N], new_row[N];

static void *worker(void *arg) {
    long i = (long)arg;
    for (int round = 0; round < 3; round++) {
        new_row[i] = old_row[(i + 1) % N] + 1;
        pthread_barrier_wait(&barrier);
        old_row[i] = new_row[i] + new_row[(i + 2) % N];
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

int main(void) {
    pthread_t t[N];
    pthread_barrier_init(&barrier, 0, N);
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    pthread_barrier_destroy(&barrier);
    return old_row[0] != 14;
}
