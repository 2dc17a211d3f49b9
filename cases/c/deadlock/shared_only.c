//@ expect: none
// Opposite orders of read-write locks that everybody takes for reading.
#include <pthread.h>

pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER, b = PTHREAD_RWLOCK_INITIALIZER;
int x = 1, y = 2, sum[2];

static int both(pthread_rwlock_t *first, pthread_rwlock_t *second) {
    pthread_rwlock_rdlock(first);
    pthread_rwlock_rdlock(second);
    int sum = x + y;
    pthread_rwlock_unlock(second);
    pthread_rwlock_unlock(first);
    return sum;
}

static void *forwards(void *arg) {
    sum[0] = both(&a, &b);
    return arg;
}

static void *backwards(void *arg) {
    sum[1] = both(&b, &a);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, forwards, 0);
    pthread_create(&u, 0, backwards, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return sum[0] != 3 || sum[1] != 3;
}
