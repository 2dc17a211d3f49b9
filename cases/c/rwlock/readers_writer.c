//@ expect: none
//@ stages: hunt scan
// Readers under the read lock, the writer under the write lock.
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value, copies[2];

static void *reader(void *arg) {
    int *copy = arg;
    pthread_rwlock_rdlock(&lock);
    *copy = value;
    pthread_rwlock_unlock(&lock);
    return 0;
}

static void *writer(void *arg) {
    pthread_rwlock_wrlock(&lock);
    value++;
    pthread_rwlock_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, reader, &copies[0]);
    pthread_create(&t[1], 0, writer, 0);
    pthread_create(&t[2], 0, reader, &copies[1]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return value != 1;
}
