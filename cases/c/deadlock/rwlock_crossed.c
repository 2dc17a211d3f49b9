//@ expect: deadlock
// Each thread reads under one read-write lock and writes under the other.
#include <pthread.h>

pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER, b = PTHREAD_RWLOCK_INITIALIZER;
int x, y;

static void *forwards(void *arg) {
    pthread_rwlock_rdlock(&a);
    pthread_rwlock_wrlock(&b); // RACE!(ring)
    y = x + 1;
    pthread_rwlock_unlock(&b);
    pthread_rwlock_unlock(&a);
    return arg;
}

static void *backwards(void *arg) {
    pthread_rwlock_rdlock(&b);
    pthread_rwlock_wrlock(&a); // RACE!(ring)
    x = y + 1;
    pthread_rwlock_unlock(&a);
    pthread_rwlock_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, forwards, 0);
    pthread_create(&u, 0, backwards, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
