//@ expect: real
//@ stages: hunt scan
// Two threads hold a mutex each, but not the same one.
#include <pthread.h>

pthread_mutex_t red = PTHREAD_MUTEX_INITIALIZER, blue = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void *worker(void *arg) {
    pthread_mutex_t *lock = arg;
    pthread_mutex_lock(lock);
    counter++; // RACE!(a)
    pthread_mutex_unlock(lock);
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &red);
    pthread_create(&u, 0, worker, &blue);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
