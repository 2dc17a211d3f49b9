//@ expect: none
// The data lie outside the mutex and the waiter comes late: nobody is signalled, only the mutex and the
// flag order the accesses. Locksets and condition edges cannot tell: suspected, never real.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready, data;

static void *signaller(void *arg) {
    data = 9; // WARN(hunt:a) ordered by the flag
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *waiter(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return (void *)(long)data; // WARN(hunt:a) ordered by the flag
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, signaller, 0);
    pthread_create(&u, 0, waiter, 0);
    pthread_join(t, 0);
    pthread_join(u, &r);
    return (long)r != 9;
}
