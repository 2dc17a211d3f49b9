//@ expect: deadlock
// A thread waits on a condition variable with a second lock held that the one who signals needs.
#include <pthread.h>

pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int is_ready, x;

static void *waiter(void *arg) {
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    while (!is_ready)
        pthread_cond_wait(&ready, &inner); // RACE!(ring)
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return arg;
}

static void *signaller(void *arg) {
    pthread_mutex_lock(&outer); // RACE!(ring)
    x++;
    pthread_mutex_unlock(&outer);
    pthread_mutex_lock(&inner);
    is_ready = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&inner);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&u, 0, signaller, 0);
    pthread_create(&t, 0, waiter, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
