//@ expect: none
// The waiter takes its lock again after the wait with nothing else held; the others nest the locks in one order.
#include <pthread.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int is_ready, x;

static void *waiter(void *arg) {
    pthread_mutex_lock(&a);
    while (!is_ready)
        pthread_cond_wait(&ready, &a);
    pthread_mutex_lock(&b);
    x++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    is_ready = 1;
    pthread_mutex_unlock(&b);
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&a);
    pthread_join(t, 0);
    return x != 1;
}
