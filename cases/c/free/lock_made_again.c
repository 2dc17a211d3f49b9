//@ expect: none
// A mutex is made again in a block that is free, and used, in every run: that is laid to no schedule, neither the taking nor
// the giving back, which nobody contends.
#include <pthread.h>
#include <stdlib.h>

static void *idle(void *arg) {
    return arg;
}

int main(void) {
    long *block = calloc(1, 112);
    pthread_mutex_t *lock = (pthread_mutex_t *)(block + 8);
    free(block);
    pthread_mutex_init(lock, 0);
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    pthread_t t;
    pthread_create(&t, 0, idle, 0);
    pthread_join(t, 0);
    return 0;
}
