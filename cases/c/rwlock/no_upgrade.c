//@ expect: none
//@ stages: hunt scan
// Read lock given up, write lock taken, value looked at again: no race and no violation.
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int created;

static void *get(void *arg) {
    int there;
    pthread_rwlock_rdlock(&lock);
    there = created;
    pthread_rwlock_unlock(&lock);
    if (!there) {
        pthread_rwlock_wrlock(&lock);
        if (!created)
            created++;
        pthread_rwlock_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, get, 0);
    pthread_create(&u, 0, get, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return created != 1;
}
