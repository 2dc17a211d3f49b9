// Every POSIX primitive once, four threads.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t control = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int n, go, serial, once;

static void initialise(void) { once++; }

static void *work(void *argument) {
    pthread_once(&control, initialise);
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        n++;
        pthread_mutex_unlock(&mutex);
        if (i % 10 == 0) {
            pthread_rwlock_rdlock(&shared);
            pthread_rwlock_unlock(&shared);
        }
        if (i % 25 == 0) {
            pthread_rwlock_wrlock(&shared);
            pthread_rwlock_unlock(&shared);
        }
    }
    pthread_mutex_lock(&mutex);
    while (!go)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        pthread_spin_lock(&spin);
        serial++;
        pthread_spin_unlock(&spin);
    }
    sem_wait(&semaphore);
    usleep(1000);
    free(malloc(100 + (long)argument));
    return argument;
}

int main(void) {
    struct timespec before, after;
    pthread_t threads[4];
    long sum = 0;
    sem_init(&semaphore, 0, 0);
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, 0, 4);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    clock_gettime(CLOCK_MONOTONIC, &before);
    sleep(1);
    pthread_mutex_lock(&mutex);
    go = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 4; i++)
        sem_post(&semaphore);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("n=%d sum=%ld serial=%d once=%d slept=%ld\n", n, sum, serial, once, (long)(after.tv_sec - before.tv_sec));
    return 3;
}
