//@ expect: none
//@ stages: scan
// A loop comes to its once-control again and again: the work behind it is not done a second time.
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
int table[16], sum;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fill(void) {
    for (int i = 0; i < 16; i++)
        table[i] = i * i;
}

static void *worker(void *arg) {
    for (int i = 0; i < 16; i++) {
        pthread_once(&once, fill);
        pthread_mutex_lock(&lock);
        sum += table[i];
        pthread_mutex_unlock(&lock);
    }
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
