//@ expect: deadlock
//@ stages: scan
// The second lock is taken in a callee.
#include <pthread.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int value;

static void with_b(void) {
    pthread_mutex_lock(&b); // RACE!(d)
    value++;
    pthread_mutex_unlock(&b);
}

static void *first(void *arg) {
    pthread_mutex_lock(&a);
    with_b();
    pthread_mutex_unlock(&a);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); // RACE!(d)
    value++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, first, 0);
    pthread_create(&u, 0, second, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
