//@ expect: real
//@ stages: explore
//@ args: 1
// An argument and a variable that must fit together.
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
    const char *key = getenv("RACE_KEY");
    if (argc > 1 && key && (atoi(argv[1]) ^ atoi(key)) == 99 && atoi(key) > 100)
        race();
    return 0;
}
