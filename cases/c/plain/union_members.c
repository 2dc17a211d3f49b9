//@ expect: real
//@ stages: hunt scan
// Members of a union overlap: the last byte of the word is the fourth of the array.
#include <pthread.h>

union both {
    unsigned word;
    unsigned char bytes[8];
} both;

static void *by_word(void *arg) {
    both.word = 0x01020304; // RACE!(a)
    return arg;
}

static void *by_byte(void *arg) {
    both.bytes[3] = 9; // RACE!(a)
    both.bytes[4] = 9;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, by_word, 0);
    pthread_create(&u, 0, by_byte, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return both.bytes[4] != 9;
}
