//@ expect: harmful(use-after-free)
// A growing array moves while another thread reads an element through its old address.
#include <pthread.h>
#include <stdlib.h>

int *array;

static void *grow(void *arg) {
    int *old = arg;
    array = realloc(old, 4000 * sizeof *old); // RACE!(a)
    return 0;
}

static void *read_first(void *arg) {
    int *old = arg;
    return (void *)(long)old[1]; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    int *block = calloc(4, sizeof *block);
    if (!block)
        return 0;
    pthread_create(&t, 0, read_first, block);
    pthread_create(&u, 0, grow, block);
    pthread_join(t, 0);
    pthread_join(u, 0);
    free(array);
    return 0;
}
