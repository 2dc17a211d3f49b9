//@ expect: none
//@ stages: scan
// What runs is waited for, whichever of two variables says so, so that the next round finds no thread.
#include <pthread.h>

static int alone;
int data;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    data++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t first, second;
    for (int round = 0; round < argc; round++) {
        int gave_up = 0;
        data = 0;
        if (!alone) {
            pthread_create(&first, 0, worker, argv);
            pthread_create(&second, 0, worker, argv);
            if (argc > 5) {
                alone = 1;
                gave_up = 1;
                pthread_join(second, 0);
            }
        }
        if (!alone)
            pthread_join(second, 0);
        if (!alone || gave_up)
            pthread_join(first, 0);
    }
    return data > 2;
}
