//@ expect: none
// A stream's own lock, taken by hand as a mutex.
#include <pthread.h>
#include <stdio.h>

int data;

static void *adds(void *p)
{
    flockfile(stdout);
    data++;
    funlockfile(stdout);
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return data == 2 ? 0 : 1;
}
