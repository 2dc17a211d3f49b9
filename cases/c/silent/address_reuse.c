//@ expect: none
// Blocks of one size come and go: one thread gets the address that the other just freed.
#include <pthread.h>
#include <stdlib.h>

static void *worker(void *arg) {
    for (int i = 0; i < 4; i++) {
        long *block = malloc(2000);
        if (!block)
            return 0;
        block[0] = i;
        block[249] = block[0] + (long)arg;
        free(block);
    }
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, (void *)1);
    pthread_create(&u, 0, worker, (void *)2);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
