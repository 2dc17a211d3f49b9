//@ expect: none
//@ stages: scan
// One way out for errors, with the lock and without it.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *worker(void *arg) {
    int held = 0;
    if (*(int *)arg < 0)
        goto out;
    pthread_mutex_lock(&lock);
    held = 1;
    value++;
out:
    if (held)
        pthread_mutex_unlock(&lock);
    return 0;
}
int input = 1;

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &input);
    pthread_create(&u, 0, worker, &input);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
