//@ expect: real
//@ stages: scan
// One function stops and starts others, in five ways that its caller chooses.
#include <pthread.h>
#include <stdlib.h>

enum { STOP_ALL, STOP_ONE, STOP_OTHER, START_ALL, START_ONE };

pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
int data, other;

static __attribute__((noinline)) void change(int what) {
    switch (what) {
    case STOP_OTHER:
        pthread_mutex_lock(&two);
        break;
    case STOP_ALL:
        pthread_mutex_lock(&two);
    case STOP_ONE:
        pthread_mutex_lock(&one);
        break;
    case START_ALL:
        pthread_mutex_unlock(&two);
    case START_ONE:
        pthread_mutex_unlock(&one);
        break;
    default:
        abort();
    }
}

static void *all(void *arg) {
    change(STOP_ALL);
    data++;
    change(START_ALL);
    other++; // RACE!(a)
    return arg;
}

static void *some(void *arg) {
    change(STOP_ONE);
    data++;
    other++; // RACE!(a)
    change(START_ONE);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, all, 0);
    pthread_create(&b, 0, some, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
