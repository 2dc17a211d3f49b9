//@ expect: real
//@ stages: hunt scan
// An unaligned word that straddles two granules of eight bytes; only its last byte is shared.
#include <pthread.h>
#include <stdint.h>

struct __attribute__((packed)) record {
    char tag[5];
    uint32_t word;
    char rest[7];
} record __attribute__((aligned(16)));

static void *set_word(void *arg) {
    record.word = 0x01020304; // RACE!(a)
    return arg;
}

static void *touch(void *arg) {
    char *bytes = (char *)&record;
    bytes[4] = 1;
    bytes[8] = 2; // RACE!(a)
    bytes[9] = 3;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, set_word, 0);
    pthread_create(&u, 0, touch, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return record.rest[0] != 3;
}
