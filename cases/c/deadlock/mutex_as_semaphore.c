//@ expect: misuse
// A lock that is given back by a thread other than the one that took it (undefined, and in use): who holds it says
// nothing, so a ring of owners is no deadlock. It is a misuse.
#include <pthread.h>

pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, data = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *opens(void *arg) {
    pthread_mutex_lock(&data);
    x++;
    pthread_mutex_unlock(&data);
    pthread_mutex_unlock(&gate); // RACE!(given)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_mutex_lock(&gate);
    pthread_create(&t, 0, opens, 0);
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&data);
    x++;
    pthread_mutex_unlock(&data);
    pthread_mutex_unlock(&gate);
    pthread_join(t, 0);
    return x != 2;
}
