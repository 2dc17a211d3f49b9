//@ expect: real misuse
//@ stages: scan
// Taken on one of two ways that nothing tells apart later: not surely held.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, choice;

static void *worker(void *arg) {
    if (arg)
        pthread_mutex_lock(&lock);
    value++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &value);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
