//@ expect: real
//@ stages: scan
// A lock behind a pointer is the same lock when the pointer is read anew after waiting; the length is touched without it.
#include <pthread.h>
#include <stdlib.h>

struct queue {
    int length, taken;
    pthread_mutex_t *lock;
    pthread_cond_t more;
};

static void *taker(void *arg) {
    struct queue *queue = arg;
    for (int n = 0; n < 2; n++) {
        pthread_mutex_lock(queue->lock);
        while (queue->length == 0)
            pthread_cond_wait(&queue->more, queue->lock);
        queue->length--;
        pthread_mutex_unlock(queue->lock);
        queue->taken++; // RACE!(a)
    }
    return 0;
}

static void put(struct queue *queue) {
    pthread_mutex_lock(queue->lock);
    queue->length += 2;
    pthread_cond_broadcast(&queue->more);
    pthread_mutex_unlock(queue->lock);
}

int main(void) {
    pthread_t threads[2];
    struct queue *queue = calloc(1, sizeof *queue);
    queue->lock = malloc(sizeof *queue->lock);
    pthread_mutex_init(queue->lock, 0);
    pthread_cond_init(&queue->more, 0);
    for (int n = 0; n < 2; n++)
        pthread_create(&threads[n], 0, taker, queue);
    for (int n = 0; n < 2; n++)
        put(queue);
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], 0);
    return 0;
}
