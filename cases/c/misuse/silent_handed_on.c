//@ expect: none
//@ levels: O1 what the calls do is the same at each
// Locks taken for a fork are given back in both processes, or made anew in the child; a lock is made anew in its place.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER, others;
pthread_barrier_t met;
int lines;

static void before(void) {
    pthread_mutex_lock(&heap_lock);
    pthread_mutex_lock(&log_lock);
}

static void parent(void) {
    pthread_mutex_unlock(&log_lock);
    pthread_mutex_unlock(&heap_lock);
}

static void child(void) {
    pthread_mutex_unlock(&log_lock);
    pthread_mutex_init(&heap_lock, 0);
}

static void *holds(void *arg) {
    pthread_mutex_lock(&others);
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&met);
    pthread_mutex_unlock(&others);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_atfork(before, parent, child);
    pthread_barrier_init(&met, 0, 2);
    pthread_mutex_init(&others, 0);
    pthread_create(&t, 0, holds, 0);
    pthread_barrier_wait(&met);
    if (fork() == 0) {
        // The thread that holds it is not here: all that is left to do is to give it up.
        pthread_mutex_unlock(&others);
        pthread_mutex_destroy(&others);
        before();
        parent();
        _exit(0);
    }
    pthread_barrier_wait(&met);
    pthread_join(t, 0);
    wait(0);
    pthread_mutex_lock(&log_lock);
    log_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&log_lock);
    pthread_mutex_unlock(&log_lock);
    return 0;
}
