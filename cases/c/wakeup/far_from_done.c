//@ expect: real
// A test waits ten seconds for a result, and a watchdog thirty: long enough for one that gives way often.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;
int other;

static void *works(void *p)
{
    for (int i = 0; i < 600; i++)
        sched_yield();
    other = 1; // RACE!(a)
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return p;
}

static void *watches(void *p)
{
    sleep(30);
    abort();
    return p;
}

int main(void)
{
    pthread_t worker, watchdog;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_create(&watchdog, 0, watches, 0);
    pthread_create(&worker, 0, works, 0);
    other = 2; // RACE!(a)
    pthread_mutex_lock(&mutex);
    while (!done)
        if (pthread_cond_timedwait(&changed, &mutex, &until))
            abort();
    pthread_mutex_unlock(&mutex);
    pthread_join(worker, 0);
    return 0;
}
