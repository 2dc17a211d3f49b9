//@ expect: real
//@ stages: explore
//@ stdin: 0123456
// A word read at once, most significant byte first.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shared;
static void *worker(void *p)
{
    (void)p;
    shared++; // RACE!(a)
    return NULL;
}
static void race(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
int main(void)
{
    unsigned char p[8];
    if (read(0, p, sizeof p) != sizeof p)
        return 0;
    unsigned word = (unsigned)p[4] << 24 | p[5] << 16 | p[6] << 8 | p[7];
    if (p[0] == 2 && word - 0x01020304 < 3)
        race();
    return 0;
}
