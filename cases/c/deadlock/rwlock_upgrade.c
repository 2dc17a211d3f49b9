//@ expect: deadlock
// A reader that finds the value stale upgrades: it takes the lock for writing while it still reads. Alone with the
// lock nobody finds it stale; who comes between the store's two halves does.
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int stale;

static void *store(void *arg) {
    pthread_rwlock_wrlock(&lock);
    stale = 1;
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    stale = 0;
    pthread_rwlock_unlock(&lock);
    return arg;
}

static void *reader(void *arg) {
    pthread_rwlock_rdlock(&lock);
    if (stale) {
        pthread_rwlock_wrlock(&lock);
        stale = 0;
        pthread_rwlock_unlock(&lock);
    }
    pthread_rwlock_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, store, 0);
    pthread_create(&u, 0, reader, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
