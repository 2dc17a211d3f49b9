//@ expect: real
//@ stages: hunt scan
// The race that lock hand-over hides: when the first thread is through its critical section before the
// second enters, a happens-before detector sees the two writes ordered.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared, guarded;

static void *before(void *arg) {
    shared++; // RACE!(a)
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *after(void *arg) {
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
    shared++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, before, 0);
    pthread_create(&u, 0, after, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return guarded != 2 || shared == 0;
}
