//@ expect: none
// The release writes a word, the acquire reads one byte of it: overlapping atomics of unequal size. C11
// knows no such program, but reference counters in C++ libraries are one; the machine orders it.
// Clang's TSan keeps a clock for each address and reports the data.
#include <pthread.h>
#include <stdint.h>

uint32_t word;
int data;

static void *sender(void *arg) {
    data = 2;
    __atomic_store_n(&word, 0x01010101u, __ATOMIC_RELEASE);
    return arg;
}

static void *receiver(void *arg) {
    uint8_t *bytes = (uint8_t *)&word;
    (void)arg;
    while (!__atomic_load_n(&bytes[2], __ATOMIC_ACQUIRE))
        ;
    return (void *)(long)data;
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, receiver, 0);
    pthread_create(&u, 0, sender, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 2;
}
