//@ expect: none
//@ stages: hunt scan
// Neighbouring bytes are locations of their own, though they share a word and a cache line.
#include <pthread.h>

struct {
    char a, b;
    short c;
    int d;
} cells;

static void *one(void *arg) {
    cells.a = 1;
    cells.c = 3;
    return arg;
}

static void *two(void *arg) {
    cells.b = 2;
    cells.d = 4;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, one, 0);
    pthread_create(&u, 0, two, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return cells.a + cells.b + cells.c + cells.d != 10;
}
