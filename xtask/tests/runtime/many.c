// As many threads as the argument says.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long n;

static void *work(void *argument) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&mutex);
        n++;
        pthread_mutex_unlock(&mutex);
    }
    pthread_barrier_wait(&barrier);
    free(malloc(50));
    return argument;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t *threads = calloc(count, sizeof *threads);
    pthread_barrier_init(&barrier, 0, count);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
    printf("%ld\n", n);
    free(threads);
    return 0;
}
