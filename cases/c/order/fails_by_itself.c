//@ expect: harmful(assert)
// Run by itself the second thread is always late, so the assertion always fails. Under control a yield lets it go first,
// and what is ordinary is what the controlled runs do.
#include <assert.h>
#include <pthread.h>
#include <sched.h>

int ready;

static void *prepare(void *arg) {
    ready = 1; // RACE!(flag)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, prepare, 0);
    sched_yield();
    assert(ready); // RACE!(flag)
    pthread_join(t, 0);
    return 0;
}
