//@ expect: none
// A thread that joins another while it holds the lock that this wants, until it is cancelled and gives the lock back.
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static sem_t joins;
static pthread_t wants;

static void gives(void *p)
{
    (void)p;
    pthread_mutex_unlock(&m);
}

static void *take(void *p)
{
    pthread_mutex_lock(&m); // MAY(hunt:a) that it is cancelled in time is not predicted
    pthread_mutex_unlock(&m);
    return p;
}

static void *join(void *p)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(gives, 0);
    pthread_create(&wants, 0, take, 0);
    sem_post(&joins);
    pthread_join(wants, 0); // MAY(hunt:a) as above
    pthread_cleanup_pop(1);
    return p;
}

int main(void)
{
    pthread_t thread;
    void *how;
    sem_init(&joins, 0, 0);
    pthread_create(&thread, 0, join, 0);
    sem_wait(&joins);
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
    }
    pthread_cancel(thread);
    pthread_join(thread, &how);
    if (how == PTHREAD_CANCELED)
        pthread_join(wants, 0);
    return 0;
}
