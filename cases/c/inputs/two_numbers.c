//@ expect: real
//@ stages: explore
//@ stdin: 1 2
// A product, by scanf.
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
    int a, b;
    if (scanf("%d %d", &a, &b) == 2 && a > 1 && a < b && b < 100 && a * b == 391)
        race();
    return 0;
}
