//@ expect: real
//@ stages: explore
//@ stdin: hello
// A packet whose last byte is the weighted sum of the others.
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
    unsigned char p[5];
    if (fread(p, 1, 5, stdin) != 5 || p[0] != 'P')
        return 0;
    unsigned char sum = 0;
    for (int i = 0; i < 4; i++)
        sum = (unsigned char)(sum * 3 + p[i]);
    if (sum == p[4])
        race();
    return 0;
}
