//@ expect: none
//@ stages: scan
// Written before the barrier by one, read after it by the others.
#include <pthread.h>
pthread_barrier_t barrier;
int value;

static void *writer(void *arg) {
    value = 1;
    pthread_barrier_wait(&barrier);
    return arg;
}

static void *reader(void *arg) {
    pthread_barrier_wait(&barrier);
    return arg ? arg : (void *)(long)value;
}

int main(void) {
    pthread_t t, u;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, writer, 0);
    pthread_create(&u, 0, reader, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
