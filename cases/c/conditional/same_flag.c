//@ expect: none
//@ stages: scan
// The same condition decides on the lock and on the access.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *worker(void *arg) {
    int shared = *(int *)arg;
    if (shared)
        pthread_mutex_lock(&lock);
    int x = shared * 2;
    if (shared) {
        value += x;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int yes = 1;

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &yes);
    pthread_create(&u, 0, worker, &yes);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
