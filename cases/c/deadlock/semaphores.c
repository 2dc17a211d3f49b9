//@ expect: deadlock
// Two semaphores as locks, in opposite orders.
#include <pthread.h>
#include <semaphore.h>

sem_t a, b;
int x;

static void *forwards(void *arg) {
    sem_wait(&a);
    sem_wait(&b); // RACE!(ring)
    x++;
    sem_post(&b);
    sem_post(&a);
    return arg;
}

static void *backwards(void *arg) {
    sem_wait(&b);
    sem_wait(&a); // RACE!(ring)
    x++;
    sem_post(&a);
    sem_post(&b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    sem_init(&a, 0, 1);
    sem_init(&b, 0, 1);
    pthread_create(&t, 0, forwards, 0);
    pthread_create(&u, 0, backwards, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return x != 2;
}
