//@ expect: real
//@ stages: hunt scan
// A 32-byte vector store against a store into its last element.
// Clang's TSan does not instrument accesses of this width and is silent here.
#include <pthread.h>

typedef int v8 __attribute__((vector_size(32)));

union {
    v8 vector;
    int element[9];
} lanes __attribute__((aligned(32)));
v8 seed = {1, 2, 3, 4, 5, 6, 7, 8};

static void *all(void *arg) {
    lanes.vector = seed; // RACE!(a)
    return arg;
}

static void *last(void *arg) {
    lanes.element[7] = 70; // RACE!(a)
    lanes.element[8] = 80;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, all, 0);
    pthread_create(&u, 0, last, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return lanes.element[0] != 1;
}
