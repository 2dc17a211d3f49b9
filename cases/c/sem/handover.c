//@ expect: none
// A semaphore that starts at zero hands the data over.
#include <pthread.h>
#include <semaphore.h>

sem_t full;
int data;

static void *producer(void *arg) {
    data = 3;
    sem_post(&full);
    return arg;
}

static void *consumer(void *arg) {
    (void)arg;
    sem_wait(&full);
    return (void *)(long)data;
}

int main(void) {
    pthread_t t, u;
    void *r;
    sem_init(&full, 0, 0);
    pthread_create(&t, 0, producer, 0);
    pthread_create(&u, 0, consumer, 0);
    pthread_join(t, 0);
    pthread_join(u, &r);
    return (long)r != 3;
}
