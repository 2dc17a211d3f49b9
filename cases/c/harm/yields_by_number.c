//@ expect: none
// Giving the processor up many times is no hang: what comes after is what the others wait for.
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *p)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, waits, 0);
    for (int i = 0; i < 8000; i++)
        sched_yield();
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
