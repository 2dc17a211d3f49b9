//@ expect: real
//@ stages: hunt scan
// Two threads fill their halves of an array; the second begins one element too early. The loops walk
// memory and are checked by range.
#include <pthread.h>

#define N 400
long cells[N];
struct part {
    int from, to;
} parts[2] = {{0, N / 2}, {N / 2 - 1, N}};

static void *fill(void *arg) {
    struct part *p = arg;
    for (int i = p->from; i < p->to; i++)
        cells[i] = cells[i] + i; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, fill, &parts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return cells[1] != 1;
}
