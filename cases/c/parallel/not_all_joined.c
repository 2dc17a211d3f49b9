//@ expect: real
//@ stages: scan
// Three are created, two are waited for.
#include <pthread.h>
int value;

static void *worker(void *arg) {
    value++; // RACE!(a) RACE!(b) WARN(scan:c) joins in two places are not summed
    return arg;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    value++; // RACE!(b)
    pthread_join(t[2], 0);
    return value == 0; // WARN(scan:c) joins in two places are not summed
}
