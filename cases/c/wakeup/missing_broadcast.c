//@ expect: lost-wakeup
// Two threads wait for one flag, but only one is signalled.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int is_ready;

static void *waiter(void *arg) {
    pthread_mutex_lock(&lock);
    while (!is_ready)
        pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *signaller(void *arg) {
    pthread_mutex_lock(&lock);
    is_ready = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u, v;
    pthread_create(&t, 0, signaller, 0);
    pthread_create(&u, 0, waiter, 0);
    pthread_create(&v, 0, waiter, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    pthread_join(v, 0);
    return 0;
}
