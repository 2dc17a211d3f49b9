//@ expect: real
//@ stages: explore
// A variable that is not set at first.
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
    const char *mode = getenv("RACE_MODE");
    if (mode && strcmp(mode, "fast") == 0)
        race();
    return 0;
}
