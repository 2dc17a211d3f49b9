//@ expect: none
//@ stages: scan
// Below 0 without the lock, else with it.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, closed;

static int enter(int wanted) {
    if (wanted > 8 || wanted < 0)
        return -1;
    pthread_mutex_lock(&lock);
    return wanted;
}

static void *worker(void *arg) {
    if (enter(*(int *)arg) < 0)
        return 0;
    value++;
    pthread_mutex_unlock(&lock);
    return 0;
}
int wanted = 3;

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &wanted);
    pthread_create(&u, 0, worker, &wanted);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
