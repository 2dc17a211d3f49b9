//@ expect: none
// Two semaphores count the free and the full slots of a ring; the slots need no lock.
#include <pthread.h>
#include <semaphore.h>

sem_t empty, full;
int ring[2];

static void *producer(void *arg) {
    for (int i = 0; i < 5; i++) {
        sem_wait(&empty);
        ring[i % 2] = i;
        sem_post(&full);
    }
    return arg;
}

static void *consumer(void *arg) {
    long sum = 0;
    (void)arg;
    for (int i = 0; i < 5; i++) {
        sem_wait(&full);
        sum += ring[i % 2];
        sem_post(&empty);
    }
    return (void *)sum;
}

int main(void) {
    pthread_t t, u;
    void *sum;
    sem_init(&empty, 0, 2);
    sem_init(&full, 0, 0);
    pthread_create(&t, 0, producer, 0);
    pthread_create(&u, 0, consumer, 0);
    pthread_join(t, 0);
    pthread_join(u, &sum);
    return (long)sum != 10;
}
