//@ expect: real
//@ stages: scan
// Reads whose values are not used, or are read a second time, race like others: what an optimiser drops is in the source.
#include <pthread.h>

int first, second, third;

static void *worker(void *arg) {
    first = 1;  // RACE!(a)
    second = 1; // RACE!(b) RACE!(c)
    third = 1;  // RACE!(d)
    return arg;
}

static void look(const int *p) {
    int seen = *p; // RACE!(a)
    (void)seen;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    look(&first);
    int once = second;  // RACE!(b)
    int twice = second; // RACE!(c)
    if (third == 0) {   // RACE!(d)
    }
    pthread_join(t, 0);
    return once - twice > 1;
}
