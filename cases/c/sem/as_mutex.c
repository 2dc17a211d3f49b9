//@ expect: none
// A semaphore that starts at one serves as a mutex; also by its try and timed forms.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

sem_t one;
int counter;

static void *worker(void *arg) {
    struct timespec until;
    sem_wait(&one);
    counter++;
    sem_post(&one);
    if (sem_trywait(&one) == 0) {
        counter++;
        sem_post(&one);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (sem_timedwait(&one, &until) == 0) {
        counter++;
        sem_post(&one);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    sem_init(&one, 0, 1);
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    sem_destroy(&one);
    return counter < 2;
}
