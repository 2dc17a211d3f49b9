//@ expect: harmful(assert)
// What a good run is, said in the program. A run by itself goes on where it does not hold.
#include <deadheat.h>
#include <pthread.h>

int visitors;

static void *visit(void *arg) {
    visitors++; // RACE!(count)
    return arg;
}

int main(void) {
    pthread_t t, u;
    deadheat_assert(visitors == 0);
    pthread_create(&t, 0, visit, 0);
    pthread_create(&u, 0, visit, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    deadheat_assert(visitors == 2);
    return 0;
}
