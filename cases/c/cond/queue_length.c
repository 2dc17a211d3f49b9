//@ expect: real
//@ stages: hunt scan
// The queue's length is looked at without its mutex.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
int length;

static void *producer(void *arg) {
    pthread_mutex_lock(&lock);
    length++; // RACE!(in)
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *consumer(void *arg) {
    pthread_mutex_lock(&lock);
    while (length == 0)
        pthread_cond_wait(&not_empty, &lock);
    length--; // RACE!(out)
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *monitor(void *arg) {
    (void)arg;
    return (void *)(long)length; // RACE!(in) RACE!(out)
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, consumer, 0);
    pthread_create(&t[1], 0, producer, 0);
    pthread_create(&t[2], 0, monitor, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return length;
}
