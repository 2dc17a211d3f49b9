//@ expect: real
//@ stages: scan
// A thread function that runs several times at once.
#include <pthread.h>
int value;

static void *worker(void *arg) {
    value++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return value == 0;
}
