//@ expect: real
//@ stages: hunt scan
// The value is read under the mutex but written back after it was given up.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void *worker(void *arg) {
    int copy;
    pthread_mutex_lock(&lock);
    copy = counter; // RACE!(rw)
    pthread_mutex_unlock(&lock);
    counter = copy + 1; // RACE!(rw) RACE!(ww)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
