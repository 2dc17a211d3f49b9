//@ expect: real
//@ stages: scan
// A loop left by break, after the lock was given back.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, found;

static void *worker(void *arg) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        if (value == i) {
            pthread_mutex_unlock(&lock);
            break;
        }
        value++;
        pthread_mutex_unlock(&lock);
    }
    found++; // RACE!(a)
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
