//@ expect: none
//@ stages: hunt scan
// Creation and join order everything, through several threads.
#include <pthread.h>

int value;

static void *leaf(void *arg) {
    value += 1;
    return arg;
}

static void *middle(void *arg) {
    pthread_t t;
    value += 10;
    pthread_create(&t, 0, leaf, 0);
    pthread_join(t, 0);
    value += 10;
    return arg;
}

int main(void) {
    pthread_t t, u;
    value = 100;
    pthread_create(&t, 0, middle, 0);
    pthread_join(t, 0);
    pthread_create(&u, 0, leaf, 0);
    pthread_join(u, 0);
    return value != 122;
}
