//@ expect: real
//@ stages: hunt scan
// Half of the program was moved to a read-write lock.
#include <pthread.h>

pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int value, copy;

static void *old_code(void *arg) {
    pthread_mutex_lock(&mutex);
    value = 4; // RACE!(a)
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *new_code(void *arg) {
    pthread_rwlock_rdlock(&rw);
    copy = value; // RACE!(a)
    pthread_rwlock_unlock(&rw);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, old_code, 0);
    pthread_create(&u, 0, new_code, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return value != 4;
}
