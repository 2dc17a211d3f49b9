//@ frontends: gcc clang
//@ expect: harmful(assert)
// Two increments in code that a compiler instruments: one is lost.
#include <assert.h>
#include <pthread.h>

int count;

static void *worker(void *arg) {
    count++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(count == 2);
    return 0;
}
