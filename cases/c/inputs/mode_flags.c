//@ expect: real
//@ stages: explore
// Two flags, each an argument that is not there at first.
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
    int unlocked = 0, many = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-u") == 0)
            unlocked = 1;
        else if (strcmp(argv[i], "-m") == 0)
            many = 1;
    }
    if (unlocked && many)
        race();
    return 0;
}
