//@ expect: deadlock
// Three threads, three locks, each pair in the order of a ring.
#include <pthread.h>

pthread_mutex_t lock[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int counter[3];

static void *work(void *arg) {
    long own = (long)arg, next = (own + 1) % 3;
    pthread_mutex_lock(&lock[own]);
    pthread_mutex_lock(&lock[next]); // RACE!(ring)
    counter[own]++;
    pthread_mutex_unlock(&lock[next]);
    pthread_mutex_unlock(&lock[own]);
    return 0;
}

int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
