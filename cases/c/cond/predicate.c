//@ expect: none
//@ stages: hunt scan
// The predicate and the data lie under the mutex, the wait in a loop.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready, data;

static void *waiter(void *arg) {
    int seen;
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    seen = data;
    pthread_mutex_unlock(&lock);
    return (void *)(long)seen;
}

static void *signaller(void *arg) {
    pthread_mutex_lock(&lock);
    data = 9;
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, waiter, 0);
    pthread_create(&u, 0, signaller, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 9;
}
