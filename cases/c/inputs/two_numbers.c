//@ expect: real
//@ stages: explore
//@ args: 1 2
// Two numbers together, each with the thousands of paths that reading one has.
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
int main(int argc, char **argv)
{
    int wide = 0, deep = 0;
    if (argc > 2) {
        wide = strtol(argv[1], NULL, 0) == 0x4d2;
        deep = atoi(argv[2]) - 31 == 4660;
    }
    if (wide && deep)
        race();
    return 0;
}
