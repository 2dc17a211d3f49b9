//@ expect: real
//@ stages: explore
//@ stdin: qq
// A class of characters, looked up.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    static const unsigned char class[256] = {['x'] = 1, ['y'] = 2, ['z'] = 3};
    int a = getchar(), b = getchar();
    if (a >= 0 && b >= 0 && class[a] == 3 && class[b] == 1)
        race();
    return 0;
}
