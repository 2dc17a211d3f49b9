//@ expect: none
//@ stages: scan
// Read under it for reading, written under it for writing.
#include <pthread.h>
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value;

static void *reader(void *arg) {
    pthread_rwlock_rdlock(&lock);
    long seen = value;
    pthread_rwlock_unlock(&lock);
    return arg ? arg : (void *)seen;
}

static void *writer(void *arg) {
    pthread_rwlock_wrlock(&lock);
    value++;
    pthread_rwlock_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, reader, 0);
    pthread_create(&u, 0, writer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
