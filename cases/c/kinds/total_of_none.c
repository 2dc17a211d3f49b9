//@ expect: none
// Nothing is counted under a heading that does not come up. The loop's totals are kept in registers, which are loaded
// before it: a read that the program does not make.
#include <pthread.h>

struct { int none, many; } total;
int flags[256];
volatile int hundred = 100;

static void *counts(void *p)
{
    int n = hundred;
    for (int i = 0; i < n; i++)
        if (flags[i])
            total.none += i; // MAY(hunt:a) before the loop the machine reads it
        else
            total.many++;
    return p;
}

static void *sets(void *p)
{
    total.none = 5; // MAY(hunt:a) nobody else uses it
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, counts, 0);
    pthread_create(&u, 0, sets, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
