//@ expect: none
//@ stages: scan
// Given back and taken again in a callee: held afterwards.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void pause_lock(void) {
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
}

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    pause_lock();
    value++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
