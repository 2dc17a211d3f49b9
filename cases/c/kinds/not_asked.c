//@ expect: none
//@ flags: -O3
//@ levels: O2 at -O3 what a function reads through its argument is read by its callers and passed by value
// A function that is told not to look does not read.
#include <pthread.h>

int one, two;
volatile int no, result;

__attribute__((noinline)) static int look(int *at, int wanted)
{
    if (wanted)
        return *at + 7;
    return 0;
}

static void *looks(void *p)
{
    result = look(&one, no) + 2 * look(&two, no);
    return p;
}

static void *sets(void *p)
{
    one = 5;
    two = 3;
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, looks, 0);
    pthread_create(&u, 0, sets, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
