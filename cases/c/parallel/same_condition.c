//@ expect: none
//@ stages: scan
// Created and joined under the same condition: whoever is past the second one is alone, whichever way was taken.
#include <pthread.h>

int data, one;

static void *worker(void *arg) {
    data++;
    return arg;
}
static void *other(void *arg) {
    one++;
    return arg;
}

int main(int argc, char **argv) {
    pthread_t t, u;
    int two = argc > 2;
    if (argc > 1)
        pthread_create(&t, 0, worker, argv);
    if (two)
        pthread_create(&u, 0, other, argv);
    if (argc > 1)
        pthread_join(t, 0);
    data++;
    if (two)
        pthread_join(u, 0);
    one++;
    return 0;
}
