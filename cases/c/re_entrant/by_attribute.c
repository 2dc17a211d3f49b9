//@ expect: none
//@ stages: scan
// Re-entrant by its attribute; three levels.
#include <pthread.h>

pthread_mutex_t lock;
int value;

static void down(int depth) {
    pthread_mutex_lock(&lock);
    if (depth)
        down(depth - 1);
    value++;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *arg) {
    down(3);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attr);
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
