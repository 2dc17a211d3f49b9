//@ expect: none
//@ stages: scan
// In opposite orders, one thread after the other.
#include <pthread.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *first(void *arg) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    value++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    value++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, first, 0);
    pthread_join(t, 0);
    pthread_create(&t, 0, second, 0);
    pthread_join(t, 0);
    return 0;
}
