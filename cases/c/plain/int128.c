//@ expect: real
//@ stages: hunt scan
// A 16-byte integer, written by one thread and read in its upper half by another.
#include <pthread.h>

__extension__ typedef unsigned __int128 wide;

union {
    wide whole;
    unsigned long half[2];
} number;

static void *set(void *arg) {
    number.whole = ((wide)3 << 64) | 5; // RACE!(a)
    return arg;
}

static void *get(void *arg) {
    (void)arg;
    return (void *)number.half[1]; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, set, 0);
    pthread_create(&u, 0, get, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return number.half[0] != 5;
}
