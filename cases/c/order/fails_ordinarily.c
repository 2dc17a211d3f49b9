//@ expect: order
// The order of creation is the one that fails, so every ordinary run does; one in which the last thread comes earlier
// ends well. No race: every access is under the mutex.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int sold;
int stock = 3;

static void *sell(void *arg) {
    pthread_mutex_lock(&mutex);
    sold += (int)(long)arg;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *audit(void *arg) {
    pthread_mutex_lock(&mutex);
    assert(sold < stock);
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, sell, (void *)1);
    pthread_create(&t[1], 0, sell, (void *)2);
    pthread_create(&t[2], 0, audit, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
