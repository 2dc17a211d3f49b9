//@ expect: real
//@ stages: hunt scan
// Two threads hold the read lock at once and write.
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int hits;

static void *lookup(void *arg) {
    pthread_rwlock_rdlock(&lock);
    hits++; // RACE!(a)
    pthread_rwlock_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, lookup, 0);
    pthread_create(&u, 0, lookup, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return hits == 0;
}
