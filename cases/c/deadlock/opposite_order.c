//@ expect: deadlock
// Two locks taken in opposite orders.
#include <pthread.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void *forwards(void *arg) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    counter++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *backwards(void *arg) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    counter++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, forwards, 0);
    pthread_create(&u, 0, backwards, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter != 2;
}
