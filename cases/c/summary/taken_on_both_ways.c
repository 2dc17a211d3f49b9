//@ expect: none
//@ stages: scan
// L+ is a must set: taken on both ways, the lock is held where they meet.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, ways[2];

static void take(int left) {
    if (left) {
        pthread_mutex_lock(&lock);
        ways[0]++;
    } else {
        pthread_mutex_lock(&lock);
        ways[1]++;
    }
}

static void *worker(void *arg) {
    take(arg != 0);
    value++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &value);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
