//@ expect: none
//@ stages: scan
// A lock that is given back under a name by which nobody took it is none of the variables that it cannot be.
#include <pthread.h>
#include <stdlib.h>

struct queue {
    pthread_mutex_t lock;
    int length;
};

struct queue *volatile queue;
int data;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&queue->lock);
    pthread_mutex_unlock(&queue->lock);
    data++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t a, b;
    struct queue *first = malloc(sizeof *first);
    pthread_mutex_init(&first->lock, 0);
    first->length = argc;
    queue = first;
    pthread_create(&a, 0, worker, argv);
    pthread_create(&b, 0, worker, argv);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return data > 2;
}
