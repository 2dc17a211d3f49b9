//@ expect: none
// A thread that may be cancelled anywhere computes, and is.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static sem_t ready;

static void *computes(void *a)
{
    (void)a;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    sem_post(&ready);
    for (volatile long n = 0;; n++)
        ;
}

int main(void)
{
    pthread_t t;
    void *result;
    sem_init(&ready, 0, 0);
    pthread_create(&t, 0, computes, 0);
    sem_wait(&ready);
    pthread_cancel(t);
    pthread_join(t, &result);
    if (result != PTHREAD_CANCELED)
        abort();
    return 0;
}
