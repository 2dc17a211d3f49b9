//@ expect: none
// Opposite orders, but the first thread is joined before the second begins. Clang's TSan and Helgrind
// report a lock-order inversion here.
#include <pthread.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    counter++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *forwards(void *arg) {
    both(&a, &b);
    return arg;
}

static void *backwards(void *arg) {
    both(&b, &a);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, forwards, 0);
    pthread_join(t, 0);
    pthread_create(&t, 0, backwards, 0);
    pthread_join(t, 0);
    return counter != 2;
}
