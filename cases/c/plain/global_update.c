//@ expect: real
//@ stages: hunt scan
// Two threads increment a global variable: a statement that races with itself.
#include <pthread.h>

int counter;

static void *worker(void *arg) {
    counter++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return counter == 0;
}
