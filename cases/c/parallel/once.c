//@ expect: none
//@ stages: scan
// Made once, by whoever comes first; read by all.
#include <pthread.h>
pthread_once_t once = PTHREAD_ONCE_INIT;
int table[4];

static void make(void) {
    for (int i = 0; i < 4; i++)
        table[i] = i * i;
}

static void *worker(void *arg) {
    pthread_once(&once, make);
    return arg ? arg : (void *)(long)table[2];
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
