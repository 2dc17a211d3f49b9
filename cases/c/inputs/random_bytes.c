//@ expect: real
//@ stages: explore
// Four bytes of the system's.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

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
    unsigned word = 0;
    if (getrandom(&word, sizeof word, 0) != sizeof word)
        return 1;
    if ((word ^ word >> 16) == 0xcafef00d)
        race();
    return 0;
}
