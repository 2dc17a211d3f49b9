//@ expect: lost-wakeup
// Producer and consumer share one condition variable: a signal meant for the one may wake the other.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int full;

static void turn(int from) {
    pthread_mutex_lock(&lock);
    while (full != from)
        pthread_cond_wait(&changed, &lock);
    full = !from;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void *producer(void *arg) {
    turn(0);
    return arg;
}

static void *consumer(void *arg) {
    turn(1);
    return arg;
}

int main(void) {
    pthread_t p[2], c[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&p[i], 0, producer, 0);
        pthread_create(&c[i], 0, consumer, 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(p[i], 0);
        pthread_join(c[i], 0);
    }
    return 0;
}
