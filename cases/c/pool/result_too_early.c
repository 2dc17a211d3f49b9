//@ expect: real
// The task is handed to the worker properly, but main reads its result without waiting for it.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t work = PTHREAD_COND_INITIALIZER;
int *task;
int result;

static void *worker(void *arg) {
    int *mine;
    pthread_mutex_lock(&lock);
    while (!task)
        pthread_cond_wait(&work, &lock);
    mine = task;
    pthread_mutex_unlock(&lock);
    *mine = 17; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t;
    int early;
    pthread_create(&t, 0, worker, 0);
    pthread_mutex_lock(&lock);
    task = &result;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
    early = result; // RACE!(a)
    pthread_join(t, 0);
    return result + early < 17;
}
