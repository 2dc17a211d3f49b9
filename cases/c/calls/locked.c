//@ frontends: gcc clang
//@ expect: none
// A mutex, a condition variable and a join order what the instrumentation of compilers shows.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready, sum, after;
struct { long part[8]; } from, to;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    sum += ready;
    to = from;
    pthread_mutex_unlock(&lock);
    after = 3;
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_mutex_lock(&lock);
    from.part[3] = 7;
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(t, 0);
    return sum + after + (int)to.part[3] != 11;
}
