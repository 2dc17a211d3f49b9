//@ expect: real
//@ stages: scan
// The lock stands first in what a pointer leads to: whatever the pointer was read from, lock and data go together.
#include <pthread.h>
#include <stdlib.h>

struct bucket {
    pthread_mutex_t lock;
    int count, unguarded;
    struct bucket *next;
};

struct bucket *current;
pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    for (int n = 0; n < 2; n++) {
        pthread_mutex_lock(&table);
        struct bucket *bucket = current;
        current = bucket->next;
        pthread_mutex_unlock(&table);
        pthread_mutex_lock(&bucket->lock);
        bucket->count++;
        pthread_mutex_unlock(&bucket->lock);
        bucket->unguarded++; // RACE!(a)
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    struct bucket *first = calloc(1, sizeof *first);
    pthread_mutex_init(&first->lock, 0);
    first->next = first;
    current = first;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
