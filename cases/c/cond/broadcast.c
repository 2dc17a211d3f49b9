//@ expect: none
//@ stages: hunt scan
// A starting gate: a broadcast lets three waiters go.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t go = PTHREAD_COND_INITIALIZER;
int open_gate, through;

static void *runner(void *arg) {
    pthread_mutex_lock(&lock);
    while (!open_gate)
        pthread_cond_wait(&go, &lock);
    through++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, runner, 0);
    pthread_mutex_lock(&lock);
    open_gate = 1;
    pthread_cond_broadcast(&go);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return through != 3;
}
