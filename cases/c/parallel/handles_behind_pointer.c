//@ expect: none
//@ stages: scan
// The handles stand in an array behind a pointer that others know: what is joined is what was created there.
#include <pthread.h>
#include <stdlib.h>

struct pool {
    int size;
    pthread_t *threads;
};

struct pool *pool;
int data;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    data += pool->size;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    struct pool *mine = malloc(sizeof *mine);
    pool = mine;
    mine->size = argc;
    mine->threads = malloc(sizeof(pthread_t) * argc);
    for (int i = 0; i < argc; i++)
        pthread_create(&mine->threads[i], 0, worker, argv);
    for (int i = 0; i < argc; i++)
        pthread_join(mine->threads[i], 0);
    return ++data > 0;
}
