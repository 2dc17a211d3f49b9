//@ expect: none
// Whoever holds the mutex gives it back at once: nobody waits for it for a quarter of an hour.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *work(void *unused) {
    for (int round = 0; round < 5; round++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1000;
        if (pthread_mutex_timedlock(&mutex, &until))
            abort();
        value++;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int t = 0; t < 2; t++)
        pthread_create(&threads[t], NULL, work, NULL);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    return value != 10;
}
