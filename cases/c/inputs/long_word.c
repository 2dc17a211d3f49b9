//@ expect: real
//@ stages: explore
// The race stands behind twenty letters on standard input, more than an input may grow by at first.
#include <pthread.h>
#include <stdio.h>

static int counter;
static int next(int letter) { return getchar() == letter; }

static int said(void)
{
    return next('l') && next('e') && next('t') && next(' ') && next('t') && next('h') && next('e') && next('m')
        && next(' ') && next('r') && next('a') && next('c') && next('e') && next(' ') && next('t') && next('o')
        && next(' ') && next('e') && next('n') && next('d');
}
static void *count(void *argument)
{
    (void)argument;
    counter++; // RACE!(a)
    return NULL;
}
int main(void)
{
    if (!said())
        return 0;
    pthread_t a, b;
    pthread_create(&a, NULL, count, NULL);
    pthread_create(&b, NULL, count, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
