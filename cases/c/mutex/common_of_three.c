//@ expect: none
// Three locks, two held by each thread: every two threads have one in common, all three have none.
#include <pthread.h>

pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int counter;

static void *worker(void *arg) {
    int skip = (int)(long)arg;
    for (int i = 0; i < 3; i++)
        if (i != skip)
            pthread_mutex_lock(&locks[i]);
    counter++;
    for (int i = 2; i >= 0; i--)
        if (i != skip)
            pthread_mutex_unlock(&locks[i]);
    return 0;
}

int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return counter != 3;
}
