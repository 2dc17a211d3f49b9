//@ expect: none
//@ stages: hunt scan
// Only a trylock that succeeded leads to the access.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void *worker(void *arg) {
    for (int i = 0; i < 4; i++) {
        if (pthread_mutex_trylock(&lock) != 0)
            continue;
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter > 8;
}
