//@ expect: none
// Minimum and maximum are read-modify-write operations as any other: they release and acquire.
// Clang's TSan does not instrument them and reports the data.
#include <pthread.h>

int high;
int data[2];

static void *raise_to_one(void *arg) {
    data[0] = 10;
    __atomic_fetch_max(&high, 1, __ATOMIC_RELEASE);
    return arg;
}

static void *raise_to_two(void *arg) {
    while (__atomic_fetch_max(&high, 0, __ATOMIC_ACQUIRE) != 1)
        ;
    data[1] = data[0] + 1;
    __atomic_fetch_max(&high, 2, __ATOMIC_ACQ_REL);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, raise_to_two, 0);
    pthread_create(&u, 0, raise_to_one, 0);
    while (__atomic_fetch_min(&high, 5, __ATOMIC_ACQUIRE) != 2)
        ;
    int got = data[1];
    pthread_join(t, 0);
    pthread_join(u, 0);
    return got != 11;
}
