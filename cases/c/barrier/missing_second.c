//@ expect: real
// The barrier between reading and the next round's writing was forgotten.
#include <pthread.h>

pthread_barrier_t barrier;
long cells[2], sums[2];

static void *worker(void *arg) {
    long i = (long)arg;
    for (int round = 0; round < 2; round++) {
        cells[i] = i + round; // RACE!(a)
        pthread_barrier_wait(&barrier);
        sums[i] += cells[1 - i]; // RACE!(a)
    }
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, worker, (void *)0);
    pthread_create(&u, 0, worker, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return sums[0] == 0;
}
