//@ expect: real
// As total_of_none.c, but what is counted comes up: the writes of the loop prove it.
#include <pthread.h>

int total;
int flags[256];
volatile int hundred = 100;

static void *counts(void *p)
{
    int n = hundred;
    for (int i = 0; i < n; i++)
        if (flags[i])
            total += i; // RACE!(a)
    return p;
}

static void *sets(void *p)
{
    total = 5; // RACE!(a)
    return p;
}

int main(void)
{
    pthread_t t, u;
    for (int i = 0; i < 256; i++)
        flags[i] = 1;
    pthread_create(&t, 0, counts, 0);
    pthread_create(&u, 0, sets, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
