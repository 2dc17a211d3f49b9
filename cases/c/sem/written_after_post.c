//@ expect: real
// The producer writes after it posted.
#include <pthread.h>
#include <semaphore.h>

sem_t full;
int data;

static void *producer(void *arg) {
    sem_post(&full);
    data = 3; // RACE!(a)
    return arg;
}

static void *consumer(void *arg) {
    (void)arg;
    sem_wait(&full);
    return (void *)(long)data; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    sem_init(&full, 0, 0);
    pthread_create(&t, 0, producer, 0);
    pthread_create(&u, 0, consumer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
