//@ expect: real
//@ stages: hunt scan
// main takes the configuration down while a detached thread may still use it: the semaphore tells only
// that it began.
#include <pthread.h>
#include <semaphore.h>

sem_t begun, ended;
int config = 5;

static void *worker(void *arg) {
    long seen;
    sem_post(&begun);
    seen = config; // RACE!(a)
    sem_post(&ended);
    (void)arg;
    return (void *)seen;
}

int main(void) {
    pthread_t t;
    sem_init(&begun, 0, 0);
    sem_init(&ended, 0, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_detach(t);
    sem_wait(&begun);
    config = 0; // RACE!(a)
    sem_wait(&ended);
    return 0;
}
