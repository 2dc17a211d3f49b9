//@ expect: none
//@ stages: scan
// The second thread is created when the first has ended.
#include <pthread.h>
int value;

static void *worker(void *arg) {
    value++;
    return arg;
}

int main(void) {
    pthread_t t;
    for (int i = 0; i < 3; i++) {
        pthread_create(&t, 0, worker, 0);
        pthread_join(t, 0);
    }
    return value != 3;
}
