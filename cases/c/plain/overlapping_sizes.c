//@ expect: real
//@ stages: hunt scan
// An 8-byte store and a 2-byte load inside it; the load behind it is not part of the race.
#include <pthread.h>
#include <stdint.h>

struct packet {
    uint64_t header;
    uint16_t tail;
} packet;

static void *fill(void *arg) {
    packet.header = 0x1122334455667788u; // RACE!(a)
    return arg;
}

static void *inspect(void *arg) {
    volatile uint16_t *part = (volatile uint16_t *)&packet;
    (void)arg;
    uintptr_t high = part[3]; // RACE!(a)
    uintptr_t tail = part[4];
    return (void *)(high + tail);
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, fill, 0);
    pthread_create(&u, 0, inspect, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
