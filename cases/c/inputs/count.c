//@ expect: real
//@ stages: explore
//@ stdin: ab
// So many of one letter, more than there are at first.
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
    int n = 0, c;
    while ((c = getchar()) != EOF)
        n += c == 'a';
    if (n == 5)
        race();
    return 0;
}
