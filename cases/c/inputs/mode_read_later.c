//@ expect: real
//@ stages: explore
// What a branch on input decides is read behind another one, where the way to it is the same on both sides. Pruning by
// unsatisfiable cores alone takes the sides for one and misses the race (--prune branch).
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int shared;
int mode;
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
    int first = rand(), second = rand();
    if (first > 100)
        mode = 1;
    else
        mode = 2;
    if (second == 7)
        puts("seven");
    else
        return 0;
    if (mode == 2)
        race();
    return 0;
}
