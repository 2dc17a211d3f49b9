//@ expect: none
//@ stages: scan
// A function that calls itself under its lock, and gives it back at the end.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void walk(int depth) {
    value += depth;
    if (depth > 0)
        walk(depth - 1);
}

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    walk(5);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
