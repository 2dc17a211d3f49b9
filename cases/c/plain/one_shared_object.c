//@ expect: real
//@ stages: hunt scan
// The same statement runs on many objects; only one of them is shared. Threads that stand at the
// statement with different objects must not be taken for a race, nor the race be missed for them.
#include <pthread.h>

struct cell {
    long value;
} cells[5];
// Thread 0 walks cells 0, 1, 2; thread 1 walks cells 4, 3, 2.
int path[2][3] = {{0, 1, 2}, {4, 3, 2}};

static void *walk(void *arg) {
    int *p = arg;
    for (int i = 0; i < 3; i++)
        cells[p[i]].value++; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, walk, path[0]);
    pthread_create(&u, 0, walk, path[1]);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return cells[0].value != 1;
}
