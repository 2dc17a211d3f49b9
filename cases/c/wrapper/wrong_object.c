//@ expect: real
//@ stages: scan
// The lock of one object, the data of another.
#include <pthread.h>

struct part {
    pthread_mutex_t lock;
    int value;
} one = {PTHREAD_MUTEX_INITIALIZER, 0}, two = {PTHREAD_MUTEX_INITIALIZER, 0};

static void *first(void *arg) {
    pthread_mutex_lock(&one.lock);
    two.value++; // RACE!(a)
    pthread_mutex_unlock(&one.lock);
    return arg;
}

static void *second(void *arg) {
    pthread_mutex_lock(&two.lock);
    two.value++; // RACE!(a)
    pthread_mutex_unlock(&two.lock);
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
