//@ expect: real
// Two threads update a sum without a lock, which races; main reads it once both said under a lock that they are
// through, which does not. A run that leaves the two updates in no order says nothing of the read.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int sum, through;

static void *add(void *arg) {
    sum += *(int *)arg; // RACE!(a) WARN(hunt:b) ordered by the lock
    pthread_mutex_lock(&m);
    through++;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    int parts[2] = {3, 4};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, add, &parts[i]);
    pthread_mutex_lock(&m);
    while (through < 2)
        pthread_cond_wait(&ended, &m);
    pthread_mutex_unlock(&m);
    int all = sum; // WARN(hunt:b) ordered by the lock
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return all > 7;
}
