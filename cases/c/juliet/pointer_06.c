//@ expect: real
//@ stages: explore
// The shape of Juliet's CWE-366 (race condition within a thread), a stack variable behind a pointer, flow variant 06:
// a comparison of a static constant. The good function locks on every path.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const int STATIC_FIVE = 5;

static void *helper_bad(void *argument)
{
    volatile int *count = argument;
    for (int i = 0; i < 20; i++)
        *count = *count + 1; // RACE!(a)
    return NULL;
}
static void *helper_good(void *argument)
{
    volatile int *count = argument;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 20; i++)
        *count = *count + 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}
static void two_threads(void *(*helper)(void *), void *argument)
{
    pthread_t a, b;
    pthread_create(&a, NULL, helper, argument);
    pthread_create(&b, NULL, helper, argument);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
static void bad(void)
{
    int count = 0;
    if (STATIC_FIVE == 5)
        two_threads(helper_bad, &count);
    else
        two_threads(helper_good, &count);
    printf("%d\n", count);
}
static void good(void)
{
    int count = 0;
    if (STATIC_FIVE == 5)
        two_threads(helper_good, &count);
    else
        two_threads(helper_good, &count);
    printf("%d\n", count);
}
int main(void)
{
    good();
    bad();
    return 0;
}
