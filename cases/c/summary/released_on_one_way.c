//@ expect: real misuse
//@ stages: scan
// L- is a may set: given back on one of two ways, the lock is not surely held where they meet.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, other;

static void maybe(int early) {
    if (early)
        pthread_mutex_unlock(&lock);
    other = early; // RACE!(b)
}

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    maybe(arg != 0);
    value++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &value);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
