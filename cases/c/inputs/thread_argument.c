//@ expect: real
//@ stages: explore
//@ args: 1
// An argument and a result of a thread.
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
static void *triple(void *p) { return (void *)((long)p * 3); }
int main(int argc, char **argv)
{
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, triple, (void *)(long)(argc > 1 ? atoi(argv[1]) : 0));
    pthread_join(t, &result);
    if ((long)result == 51)
        race();
    return 0;
}
