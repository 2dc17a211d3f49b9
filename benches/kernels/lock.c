/* A mutex that nobody else wants, taken and given back over and over: the cost of one such pair. */
#include <pthread.h>
#include <stdio.h>

enum { PAIRS = 10000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long count;

static void *work(void *unused) {
    for (int i = 0; i < PAIRS; i++) {
        pthread_mutex_lock(&mutex);
        count++; /* PAIR */
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    printf("%lu\n", count);
    return 0;
}
