//@ expect: none
//@ stages: scan
// Which locks were taken and given back before tells no ways apart: what is held under a condition stays known.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int data;

static void pass(pthread_mutex_t *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
}

static void *worker(void *arg) {
    long n = (long)arg;
    if (n & 1)
        pass(&locks[0]);
    if (n & 2)
        pass(&locks[1]);
    if (n & 4)
        pass(&locks[2]);
    if (n > 10)
        pthread_mutex_lock(&lock);
    if (n & 8)
        pass(&locks[0]);
    if (n > 10) {
        data++;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(int argc, char **argv) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, (void *)(long)argc);
    pthread_create(&b, 0, worker, argv);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
