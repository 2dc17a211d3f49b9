//@ expect: real
//@ stages: explore
// A number in a variable that is not set at first.
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
    const char *text = getenv("RACE_WORKERS");
    int n = text ? atoi(text) : 0;
    if (n > 41 && n < 44)
        race();
    return 0;
}
