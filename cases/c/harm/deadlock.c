//@ expect: harmful(deadlock)
// A racing flag leads a thread onto a path that takes the mutex which it already holds.
#include <pthread.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
volatile int closing;

static void *user(void *arg) {
    pthread_mutex_lock(&a);
    if (closing) { // RACE!(f)
        pthread_mutex_lock(&a); // already held
    }
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *closer(void *arg) {
    closing = 1; // RACE!(f)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, user, 0);
    pthread_create(&u, 0, closer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
