//@ expect: real
//@ stages: hunt scan
// A write under the read lock is excluded from writers under the write lock, but not from readers.
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int cache, copy;

static void *proper_writer(void *arg) {
    pthread_rwlock_wrlock(&lock);
    cache = 2;
    pthread_rwlock_unlock(&lock);
    return arg;
}

static void *improper_writer(void *arg) {
    pthread_rwlock_rdlock(&lock);
    cache = 3; // RACE!(a)
    pthread_rwlock_unlock(&lock);
    return arg;
}

static void *reader(void *arg) {
    pthread_rwlock_rdlock(&lock);
    copy = cache; // RACE!(a)
    pthread_rwlock_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, proper_writer, 0);
    pthread_create(&t[1], 0, improper_writer, 0);
    pthread_create(&t[2], 0, reader, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return cache == 0;
}
