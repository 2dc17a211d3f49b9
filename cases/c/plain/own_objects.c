//@ expect: none
//@ stages: hunt scan
// Two threads run the same statements, each on its own heap block and its own element.
#include <pthread.h>
#include <stdlib.h>

long slots[2];

static void *work(void *arg) {
    long *slot = arg;
    long *own = malloc(3 * sizeof *own);
    if (!own)
        return 0;
    for (int i = 0; i < 3; i++)
        own[i] = i;
    for (int i = 0; i < 3; i++)
        *slot += own[i];
    free(own);
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, work, &slots[0]);
    pthread_create(&u, 0, work, &slots[1]);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return slots[0] != 3 || slots[1] != 3;
}
