//@ expect: none
//@ stages: scan
// Which of two locks is a matter of the argument, passed on as a pointer.
#include <pthread.h>

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
int a, b;

static void with(pthread_mutex_t *lock, int *data) {
    pthread_mutex_lock(lock);
    *data += 1;
    pthread_mutex_unlock(lock);
}

static void *worker(void *arg) {
    with(&left, &a);
    with(&right, &b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
