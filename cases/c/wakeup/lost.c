//@ expect: lost-wakeup
// The flag is looked at outside the lock: the signal may come between the look and the wait.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int is_ready;

static void *signaller(void *arg) {
    __atomic_store_n(&is_ready, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, signaller, 0);
    if (!__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&ready, &lock);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(t, 0);
    return 0;
}
