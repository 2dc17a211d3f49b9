//@ expect: none
//@ stages: scan
// A flag of the caller decides whether the callee locks.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void add(int n, int locked) {
    if (!locked)
        pthread_mutex_lock(&lock);
    value += n;
    if (!locked)
        pthread_mutex_unlock(&lock);
}

static void *first(void *arg) {
    add(1, 0);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&lock);
    add(2, 1);
    pthread_mutex_unlock(&lock);
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
