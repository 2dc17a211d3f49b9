//@ expect: real
// The address of a thread-local variable was given to another thread: now it is shared.
#include <pthread.h>
#include <semaphore.h>

_Thread_local int counter;
int *lent;
sem_t given, returned;

static void *owner(void *arg) {
    lent = &counter;
    sem_post(&given);
    counter++; // RACE!(a)
    sem_wait(&returned); // its storage ends with the thread
    return arg;
}

static void *borrower(void *arg) {
    (void)arg;
    sem_wait(&given);
    long seen = *lent; // RACE!(a)
    sem_post(&returned);
    return (void *)seen;
}

int main(void) {
    pthread_t t, u;
    sem_init(&given, 0, 0);
    sem_init(&returned, 0, 0);
    pthread_create(&u, 0, borrower, 0);
    pthread_create(&t, 0, owner, 0);
    pthread_join(u, 0);
    pthread_join(t, 0);
    return 0;
}
