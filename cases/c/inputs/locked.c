//@ expect: none
//@ stages: explore
//@ args: 1
// Whatever the input, the lock is held.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;
static void *worker(void *p)
{
    (void)p;
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
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
    int n = argc > 1 ? atoi(argv[1]) : 0;
    if (n == 17)
        race();
    return 0;
}
