//@ expect: real
//@ stages: explore
//@ stdin: a
// What one thread read decides in another.
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
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int item, full;
static void *consumer(void *p)
{
    pthread_mutex_lock(&lock);
    while (!full)
        pthread_cond_wait(&filled, &lock);
    int got = item;
    pthread_mutex_unlock(&lock);
    if (got == 2 * 'k')
        race();
    return p;
}
int main(void)
{
    int c = getchar();
    pthread_t t;
    pthread_create(&t, NULL, consumer, NULL);
    pthread_mutex_lock(&lock);
    item = c * 2;
    full = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    return 0;
}
