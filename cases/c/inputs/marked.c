//@ expect: real
//@ stages: explore
// A buffer that the program itself calls input.
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
extern void deadheat_symbolic(void *, size_t, const char *) __attribute__((weak));
int main(void)
{
    int n = 1;
    if (deadheat_symbolic)
        deadheat_symbolic(&n, sizeof n, "n");
    if (n * 3 + 7 == 100)
        race();
    return 0;
}
