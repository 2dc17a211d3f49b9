//@ expect: harmful(deadlock)
// A race decides whether the program waits for ever: that is the race's harm, and no deadlock beside it.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static volatile int flag;
static sem_t never;

static void *set(void *arg) {
    flag = 1; // RACE!(a)
    return arg;
}

int main(void) {
    sem_init(&never, 0, 0);
    pthread_t t;
    pthread_create(&t, NULL, set, NULL);
    if (flag) // RACE!(a)
        sem_wait(&never);
    pthread_join(t, NULL);
    return 0;
}
