//@ expect: none
//@ stages: scan
// Threads are started and waited for by helpers.
#include <pthread.h>
int a, b;

static void *first(void *arg) {
    a++;
    return arg;
}

static void *second(void *arg) {
    b++;
    return arg;
}

static void start(pthread_t *t, void *(*f)(void *)) { pthread_create(t, 0, f, 0); }
static void finish(pthread_t t) { pthread_join(t, 0); }

int main(void) {
    pthread_t t, u;
    start(&t, first);
    start(&u, second);
    finish(t);
    a++;
    finish(u);
    b++;
    return a + b != 4;
}
