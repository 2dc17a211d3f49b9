//@ expect: real
// The semaphore was begun with two permits: two threads are inside at once.
#include <pthread.h>
#include <semaphore.h>

sem_t permits;
int counter;

static void *worker(void *arg) {
    sem_wait(&permits);
    counter++; // RACE!(a)
    sem_post(&permits);
    return arg;
}

int main(void) {
    pthread_t t, u;
    sem_init(&permits, 0, 2);
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
