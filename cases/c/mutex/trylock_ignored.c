//@ expect: real
//@ stages: hunt scan
// A trylock whose failure is ignored: the race is there only while the other thread holds the mutex,
// so that phase 1 needs a schedule in which the trylock fails.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter, inner;

static void *holder(void *arg) {
    pthread_mutex_lock(&lock);
    inner++;
    counter += 2; // RACE!(a)
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *hasty(void *arg) {
    int failed = pthread_mutex_trylock(&lock);
    counter += 5; // RACE!(a)
    if (!failed)
        pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, holder, 0);
    pthread_create(&u, 0, hasty, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
