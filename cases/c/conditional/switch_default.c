//@ expect: none
//@ stages: scan
// What the default of a switch does is done for none of the values that have cases: where it locks it also gives back.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void add(int mode) {
    switch (mode) {
    case 1:
    case 2:
    case 3:
        return;
    default:
        pthread_mutex_lock(&lock);
    }
    if (mode != 2)
        value++;
    if (mode < 1 || mode > 3)
        pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    add((int)(long)arg);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, work, (void *)4L);
    pthread_create(&u, 0, work, (void *)5L);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
