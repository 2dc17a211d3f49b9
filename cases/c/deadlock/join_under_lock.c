//@ expect: deadlock
// The main thread joins while it holds a lock that the thread wants, if that has not had it by then.
#include <pthread.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *work(void *arg) {
    pthread_mutex_lock(&lock); // RACE!(ring)
    x++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    usleep(1000);
    pthread_mutex_lock(&lock);
    pthread_join(t, 0); // RACE!(ring)
    pthread_mutex_unlock(&lock);
    return 0;
}
