//@ expect: real
//@ stages: explore
// The shape of Juliet's CWE-366 (race condition within a thread), a global variable, flow variant 08:
// a condition on a static function's result. The good function locks on every path.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile int bad_count, good_count;
static int static_returns_true(void) { return 1; }

static void *helper_bad(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20; i++)
        bad_count = bad_count + 1; // RACE!(a)
    return NULL;
}
static void *helper_good(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 20; i++)
        good_count = good_count + 1;
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
    if (static_returns_true())
        two_threads(helper_bad, NULL);
    else
        two_threads(helper_good, NULL);
    printf("%d\n", bad_count);
}
static void good(void)
{
    if (static_returns_true())
        two_threads(helper_good, NULL);
    else
        two_threads(helper_good, NULL);
    printf("%d\n", good_count);
}
int main(void)
{
    good();
    bad();
    return 0;
}
