//@ expect: harmful(segv)
// The size and the table it belongs to are exchanged one after the other.
#include <pthread.h>

long big[4] = {1, 2, 3, 4};
long *volatile table = big;
volatile long last = 3;

static void *shrink(void *arg) {
    table = 0; // RACE!(table)
    last = -1; // RACE!(last)
    return arg;
}

static void *sum(void *arg) {
    long n = 0;
    (void)arg;
    if (last >= 0) { // RACE!(last)
        long *t = table; // RACE!(table)
        n = t[0];
    }
    return (void *)n;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, sum, 0);
    pthread_create(&u, 0, shrink, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
