//@ expect: none
//@ stages: scan
// Used only if the lock could be taken.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *worker(void *arg) {
    if (pthread_mutex_trylock(&lock) == 0) {
        value++;
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
    return 0;
}
