// Input that goes from thread to thread: by a queue, as a thread's argument and result, through thread-local variables and
// atomics. Each consumer takes what comes, in an order that the schedule decides.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { ITEMS = 6, CONSUMERS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queue[ITEMS], first, last;
static _Thread_local int mine;
static atomic_int sum, highest;

static void *consumer(void *argument)
{
    mine = (int)(intptr_t)argument;
    for (int n = 0; n < ITEMS / CONSUMERS; n++) {
        pthread_mutex_lock(&lock);
        while (first == last) pthread_cond_wait(&filled, &lock);
        int item = queue[first++];
        pthread_mutex_unlock(&lock);
        if (item > mine) mine = item;
        atomic_fetch_add(&sum, item);
        int known = atomic_load(&highest);
        while (item > known && !atomic_compare_exchange_weak(&highest, &known, item)) {}
    }
    return (void *)(intptr_t)mine;
}

int main(int argc, char **argv)
{
    pthread_t threads[CONSUMERS];
    void *result;
    int all = 0;
    for (int n = 0; n < CONSUMERS; n++) pthread_create(&threads[n], 0, consumer, (void *)(intptr_t)argv[1][n]);
    for (int n = 0; n < ITEMS; n++) {
        pthread_mutex_lock(&lock);
        queue[last++] = argv[1][n] * 2 - 'a';
        pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&lock);
    }
    for (int n = 0; n < CONSUMERS; n++) {
        pthread_join(threads[n], &result);
        all += (int)(intptr_t)result;
    }
    if (all > 400) puts("much");
    if (sum == 700) puts("exact");
    if (highest < 120) puts("low");
    return argc == 3;
}
