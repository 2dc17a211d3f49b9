//@ expect: real
//@ stages: hunt scan
// One thread takes the mutex, the other does not.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void *careful(void *arg) {
    pthread_mutex_lock(&lock);
    counter += 2; // RACE!(a)
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *careless(void *arg) {
    counter += 5; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, careful, 0);
    pthread_create(&u, 0, careless, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
