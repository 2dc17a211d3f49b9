//@ expect: real
// The unlocked first look reads what another thread writes under the lock; what it guards races too.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile int initialised;
int table;

static long get(void) {
    if (!initialised) { // RACE!(flag)
        pthread_mutex_lock(&lock);
        if (!initialised) {
            table = 12;      // RACE!(table)
            initialised = 1; // RACE!(flag)
        }
        pthread_mutex_unlock(&lock);
    }
    return table; // RACE!(table)
}

static void *worker(void *arg) {
    (void)arg;
    return (void *)get();
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return table != 12;
}
