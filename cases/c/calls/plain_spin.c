//@ frontends: gcc
//@ expect: real
// A loop that waits for a plain variable has no site at its back edge: its accesses count instead.
#include <pthread.h>

volatile int stop;
int result;

static void *worker(void *arg) {
    result = 1; // MISS(hunt:b) needs `unordered`, which code of this kind does not prove by
    stop = 1;   // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    while (!stop) // RACE!(a)
        ;
    int seen = result; // MISS(hunt:b) as above
    pthread_join(t, 0);
    return seen != 1;
}
