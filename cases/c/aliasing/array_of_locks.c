//@ expect: none
//@ stages: scan
// Element and lock have the same index.
#include <pthread.h>

pthread_mutex_t locks[8];
int data[8];

static void *worker(void *arg) {
    int i = *(int *)arg & 7;
    pthread_mutex_lock(&locks[i]);
    data[i]++;
    pthread_mutex_unlock(&locks[i]);
    return 0;
}
int which = 3;

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 8; i++)
        pthread_mutex_init(&locks[i], 0);
    pthread_create(&t, 0, worker, &which);
    pthread_create(&u, 0, worker, &which);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
