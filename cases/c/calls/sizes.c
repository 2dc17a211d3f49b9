//@ frontends: gcc clang
//@ expect: real
// Code that compilers instrument for ThreadSanitizer: accesses of every size, each racing.
#include <pthread.h>

volatile unsigned char byte;
unsigned short half;
unsigned word;
unsigned long whole;
__int128 wide;
struct { long part[8]; } block, other;

static void *worker(void *arg) {
    byte = 1;       // RACE!(a)
    half = 2;       // RACE!(b)
    word = 3;       // RACE!(c)
    whole = 4;      // RACE!(d)
    wide = 5;       // RACE!(e)
    block = other;  // RACE!(f)
    return arg;
}

int main(void) {
    pthread_t t;
    unsigned long sum = 0;
    pthread_create(&t, 0, worker, 0);
    sum += byte;                // RACE!(a)
    sum += half;                // RACE!(b)
    sum += word;                // RACE!(c)
    sum += whole;               // RACE!(d)
    sum += (unsigned long)wide; // RACE!(e)
    sum += block.part[7];       // RACE!(f)
    pthread_join(t, 0);
    return sum > 100;
}
