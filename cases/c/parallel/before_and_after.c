//@ expect: none
//@ stages: scan
// Before the thread exists, and after it has ended.
#include <pthread.h>
int value;

static void *worker(void *arg) {
    value++;
    return arg;
}

int main(void) {
    pthread_t t;
    value = 1;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    return value != 2;
}
