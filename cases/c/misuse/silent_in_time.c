//@ expect: none
//@ levels: O1 what the calls do is the same at each
// Destroyed as soon as POSIX allows: a condition variable whose waiters are woken, a barrier that is passed, a semaphore
// that lets pass, a mutex by the last who used it. A condition variable serves two mutexes, one after the other.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier;
sem_t sem;
int rounds;
struct { pthread_mutex_t lock; int users; } *object;

static void leave(void) {
    pthread_mutex_lock(&object->lock);
    int last = --object->users == 0;
    pthread_mutex_unlock(&object->lock);
    if (last) {
        pthread_mutex_destroy(&object->lock);
        free(object);
    }
}

static void *waits(void *mutex) {
    int before = mutex == &second;
    pthread_mutex_lock(mutex);
    while (rounds == before)
        pthread_cond_wait(&woken, mutex); // MAY(hunt:a) who wakes it, joins it next: as if the join came first
    pthread_mutex_unlock(mutex);
    if (before && pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        pthread_barrier_destroy(&barrier);
    sem_wait(&sem); // MAY(hunt:b) likewise
    leave();
    return mutex;
}

int main(void) {
    pthread_t t[2];
    pthread_mutex_t *mutexes[] = {&first, &second};
    object = calloc(1, sizeof *object);
    pthread_mutex_init(&object->lock, 0);
    object->users = 2;
    pthread_barrier_init(&barrier, 0, 1);
    sem_init(&sem, 0, 0);
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], 0, waits, mutexes[i]);
        pthread_mutex_lock(mutexes[i]);
        rounds++;
        pthread_cond_broadcast(&woken);
        pthread_mutex_unlock(mutexes[i]);
        sem_post(&sem);
        pthread_join(t[i], 0); // MAY(hunt:a) MAY(hunt:b) both
    }
    return pthread_cond_destroy(&woken) + sem_destroy(&sem);
}
