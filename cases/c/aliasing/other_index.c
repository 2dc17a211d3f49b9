//@ expect: real
//@ stages: scan
// The lock of another element.
#include <pthread.h>

pthread_mutex_t locks[8];
int data[8];

static void *worker(void *arg) {
    int *which = arg;
    int i = which[0] & 7, j = which[1] & 7;
    pthread_mutex_lock(&locks[j]);
    data[i]++; // RACE!(a)
    pthread_mutex_unlock(&locks[j]);
    return 0;
}
int one[2] = {3, 1}, two[2] = {3, 2};

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 8; i++)
        pthread_mutex_init(&locks[i], 0);
    pthread_create(&t, 0, worker, one);
    pthread_create(&u, 0, worker, two);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
