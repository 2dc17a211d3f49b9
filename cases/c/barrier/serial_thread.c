//@ expect: none
// The one thread that the barrier picks collects the parts between two rounds.
#include <pthread.h>

pthread_barrier_t barrier;
int parts[3], total;

static void *worker(void *arg) {
    int i = (int)(long)arg;
    parts[i] = i + 1;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        total = parts[0] + parts[1] + parts[2];
    pthread_barrier_wait(&barrier);
    parts[i] = total;
    return 0;
}

int main(void) {
    pthread_t t[3];
    pthread_barrier_init(&barrier, 0, 3);
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return parts[0] != 6 || parts[2] != 6;
}
