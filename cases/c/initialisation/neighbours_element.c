//@ expect: real
//@ stages: scan
// Each thread writes to its element and to the next one.
#include <pthread.h>

long slots[5];

static void *worker(void *arg) {
    long me = (long)arg;
    slots[me]++; // RACE!(a)
    slots[me + 1]++; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return 0;
}
