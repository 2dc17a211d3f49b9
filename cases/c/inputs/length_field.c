//@ expect: real
//@ stages: explore
//@ stdin: ab
// A length, then so many bytes, then a mark.
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
    int n = getchar();
    if (n < 3 || n > 9)
        return 0;
    for (int i = 0; i < n; i++)
        if (getchar() == EOF)
            return 0;
    if (getchar() == '!')
        race();
    return 0;
}
