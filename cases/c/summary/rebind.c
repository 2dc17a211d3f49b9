//@ expect: real
//@ stages: scan
// One function, called with other data and locks: each pair goes together, but for the last.
#include <pthread.h>

pthread_mutex_t a_lock = PTHREAD_MUTEX_INITIALIZER, b_lock = PTHREAD_MUTEX_INITIALIZER;
int a, b, c;

static void add(int *data, pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    ++*data; // RACE!(c)
    pthread_mutex_unlock(lock);
}

static void *first(void *arg) {
    add(&a, &a_lock);
    add(&b, &b_lock);
    add(&c, &a_lock);
    return arg;
}

static void *second(void *arg) {
    add(&a, &a_lock);
    add(&b, &b_lock);
    add(&c, &b_lock);
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
