//@ expect: none
//@ stages: hunt scan
// A bounded queue whose items lie in it by value, everything under its mutex.
#include <pthread.h>

#define N 2
struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    int items[N];
    unsigned in, out;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER, .not_full = PTHREAD_COND_INITIALIZER};

static void *producer(void *arg) {
    for (int i = 1; i <= 5; i++) {
        pthread_mutex_lock(&queue.lock);
        while (queue.in - queue.out == N)
            pthread_cond_wait(&queue.not_full, &queue.lock);
        queue.items[queue.in++ % N] = i;
        pthread_cond_signal(&queue.not_empty);
        pthread_mutex_unlock(&queue.lock);
    }
    return arg;
}

static void *consumer(void *arg) {
    long sum = 0;
    (void)arg;
    for (int i = 1; i <= 5; i++) {
        pthread_mutex_lock(&queue.lock);
        while (queue.in == queue.out)
            pthread_cond_wait(&queue.not_empty, &queue.lock);
        sum += queue.items[queue.out++ % N];
        pthread_cond_signal(&queue.not_full);
        pthread_mutex_unlock(&queue.lock);
    }
    return (void *)sum;
}

int main(void) {
    pthread_t t, u;
    void *sum;
    pthread_create(&t, 0, producer, 0);
    pthread_create(&u, 0, consumer, 0);
    pthread_join(t, 0);
    pthread_join(u, &sum);
    return (long)sum != 15;
}
