//@ expect: none
// The second thread's inner lock lies where the first thread's outer lock was: another lock.
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t fixed = PTHREAD_MUTEX_INITIALIZER;
int x, where;

static pthread_mutex_t *fresh(void) {
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, 0);
    return lock;
}

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    x++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *work(void *arg) {
    pthread_mutex_t *own = fresh();
    if (arg)
        both(own, &fixed);
    else
        both(&fixed, own);
    pthread_mutex_destroy(own);
    free(own);
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, work, 0);
    pthread_create(&u, 0, work, &where);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return x != 2;
}
