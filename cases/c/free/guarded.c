//@ expect: none
// The block goes away under the same lock under which it is used.
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long *block;

static void *user(void *arg) {
    long seen = 0;
    (void)arg;
    pthread_mutex_lock(&lock);
    if (block)
        seen = ++*block;
    pthread_mutex_unlock(&lock);
    return (void *)seen;
}

static void *owner(void *arg) {
    pthread_mutex_lock(&lock);
    free(block);
    block = 0;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    block = calloc(1, sizeof *block);
    pthread_create(&t, 0, user, 0);
    pthread_create(&u, 0, owner, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return block != 0;
}
