//@ expect: none
//@ stages: explore
//@ args: 1
// No square leaves the remainder 3: nothing to find.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int shared;
static void *worker(void *p)
{
    (void)p;
    shared++;
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
    int n = argc > 1 ? atoi(argv[1]) & 0xff : 0;
    if (n * n % 4 == 3)
        race();
    return 0;
}
