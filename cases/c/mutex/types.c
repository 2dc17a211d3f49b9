//@ expect: none
// Normal, error-checking, recursive and adaptive mutexes all exclude.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>

static const int types[4] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE,
                             PTHREAD_MUTEX_ADAPTIVE_NP};
pthread_mutex_t locks[4];
int counters[4], refused;

static void *worker(void *arg) {
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&locks[i]);
        counters[i]++;
        if (types[i] == PTHREAD_MUTEX_ERRORCHECK)
            refused += pthread_mutex_lock(&locks[i]) == EDEADLK;
        pthread_mutex_unlock(&locks[i]);
    }
    return arg;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_t t, u;
    for (int i = 0; i < 4; i++) {
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_settype(&attr, types[i]);
        pthread_mutex_init(&locks[i], &attr);
        pthread_mutexattr_destroy(&attr);
    }
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    for (int i = 0; i < 4; i++)
        pthread_mutex_destroy(&locks[i]);
    return counters[0] + counters[1] + counters[2] + counters[3] + refused != 10;
}
