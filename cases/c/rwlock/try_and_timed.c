//@ expect: none
//@ stages: hunt scan
// All ways to take a read-write lock, each used only when it was got. Clang's TSan does not know
// pthread_rwlock_clockwrlock and reports the value.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value, copies[2];

static void *reader(void *arg) {
    struct timespec until;
    int *copy = arg;
    if (pthread_rwlock_tryrdlock(&lock) == 0) {
        *copy = value;
        pthread_rwlock_unlock(&lock);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (pthread_rwlock_timedrdlock(&lock, &until) == 0) {
        *copy = value;
        pthread_rwlock_unlock(&lock);
    }
    return 0;
}

static void *writer(void *arg) {
    struct timespec until;
    if (pthread_rwlock_trywrlock(&lock) == 0) {
        value++;
        pthread_rwlock_unlock(&lock);
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1;
    if (pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &until) == 0) {
        value++;
        pthread_rwlock_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, reader, &copies[0]);
    pthread_create(&t[1], 0, writer, 0);
    pthread_create(&t[2], 0, reader, &copies[1]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return value > 2;
}
