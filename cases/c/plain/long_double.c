//@ expect: real
//@ stages: hunt scan
// An x87 value of ten bytes. Clang's TSan does not instrument it and is silent here.
#include <pthread.h>

long double reading;

static void *set(void *arg) {
    reading = *(int *)arg * 1.5L; // RACE!(a)
    return 0;
}

static void *get(void *arg) {
    long double *out = arg;
    *out = reading * 2; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t t, u;
    int scale = 3;
    long double seen = 0;
    pthread_create(&t, 0, set, &scale);
    pthread_create(&u, 0, get, &seen);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return seen < 0;
}
