//@ expect: real
//@ stages: scan
// Who gives up leaves a thread behind, beside which the next round begins.
#include <pthread.h>

static int alone;
int data;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    data = 1; // RACE!(a)
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t thread;
    for (int round = 0; round < argc; round++) {
        data = 0; // RACE!(a)
        if (!alone) {
            pthread_create(&thread, 0, worker, argv);
            if (argc > 5)
                alone = 1;
        }
        if (!alone)
            pthread_join(thread, 0);
    }
    return 0;
}
