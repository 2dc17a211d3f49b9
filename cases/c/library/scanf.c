//@ expect: real
//@ stages: scan
// scanf writes where its arguments say, realloc reads the block that it is given.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int number, untouched;

static void *worker(void *arg) {
    int *block = arg;
    number++;  // RACE!(a)
    *block = 1; // RACE!(b)
    return 0;
}

int main(void) {
    pthread_t t;
    int *block = calloc(4, sizeof *block);
    pthread_create(&t, 0, worker, block);
    if (scanf("%d", &number) == 1) // RACE!(a)
        untouched++;
    block = realloc(block, 8 * sizeof *block); // RACE!(b)
    pthread_join(t, 0);
    return block == 0;
}
