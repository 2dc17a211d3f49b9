//@ expect: none
//@ stages: scan
// Each thread has the element that its number chooses.
#include <pthread.h>

struct slot {
    long sum, count;
} slots[4];

static void *worker(void *arg) {
    long me = (long)arg;
    slots[me].sum += me;
    slots[me].count++;
    return 0;
}

int main(void) {
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return slots[0].sum != 0;
}
