//@ expect: none
//@ levels: O1 what the calls do is the same at each
// What the call's answer tells the program, a robust mutex whose owner ends, and a process that exits while its threads
// hold locks: defined, and none of it lost on anybody.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t checked, robust, plain = PTHREAD_MUTEX_INITIALIZER, daemons = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t met;

static void *other(void *arg) {
    if (pthread_mutex_unlock(&checked) != EPERM)
        abort();
    pthread_mutex_lock(&robust);
    return arg;
}

static void *stays(void *arg) {
    pthread_mutex_lock(&daemons);
    pthread_barrier_wait(&met);
    for (;;)
        pthread_barrier_wait(&met);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_DEFAULT);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_mutex_lock(&checked);
    if (pthread_mutex_lock(&checked) != EDEADLK)
        abort();
    pthread_create(&t, 0, other, 0);
    pthread_join(t, 0);
    pthread_mutex_unlock(&checked);
    if (pthread_mutex_unlock(&checked) != EPERM || pthread_mutex_lock(&robust) != EOWNERDEAD)
        abort();
    pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
    pthread_barrier_init(&met, 0, 2);
    pthread_create(&t, 0, stays, 0);
    pthread_barrier_wait(&met);
    pthread_mutex_lock(&plain);
    exit(0);
}
