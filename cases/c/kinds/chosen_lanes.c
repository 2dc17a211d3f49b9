//@ expect: none
//@ flags: -mavx2
//@ levels: O2 the loop is vectorised and unrolled there, and its masked loads become loads of memory that is known to exist
// What is not switched on is not read, and another thread may write it.
#include <pthread.h>

int on[64], value[64];
volatile int result;

static void *sums(void *p)
{
    int sum = 0;
    for (int i = 0; i < 64; i++)
        if (on[i])
            sum += value[i]; // MAY(hunt:a) the machine reads and forgets it
    result = sum;
    return p;
}

static void *sets(void *p)
{
    for (int i = 0; i < 64; i++)
        value[i] = i; // MAY(hunt:a) nobody reads it
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, sums, 0);
    pthread_create(&u, 0, sets, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
