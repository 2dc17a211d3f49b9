//@ frontends: gcc clang
//@ expect: real
// Block copies of a length that is known only when they run: gcc calls the C library by a name of ours, clang its interface.
#include <pthread.h>
#include <string.h>

char from[64], to[64];
size_t length = 40;

static void *worker(void *arg) {
    memcpy(to, from, length); // RACE!(a) RACE!(b)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    memset(from, 1, length); // RACE!(a)
    int last = to[39];       // RACE!(b)
    pthread_join(t, 0);
    return last > 1;
}
