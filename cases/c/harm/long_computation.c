//@ expect: real
//@ levels: O1 the same loop at each, and a long one
// Whoever comes first computes for long, by itself. That is no hang: it ends.
#include <pthread.h>

int first;
volatile unsigned sum;

static void *computes(void *p)
{
    if (!first) // RACE!(a)
        for (unsigned n = 1; n % 100000001; n++)
            sum ^= n;
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, computes, 0);
    first = 1; // RACE!(a)
    pthread_join(thread, 0);
    return 0;
}
