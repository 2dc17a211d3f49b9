//@ expect: none
// A pool of two workers takes tasks by value from a queue; each task writes a cell of its own.
#include <pthread.h>

struct task {
    int *cell, value;
};
struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct task tasks[8];
    int in, out, closed;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};
int results[4];

static void *worker(void *arg) {
    for (;;) {
        struct task t = {0, 0};
        pthread_mutex_lock(&pool.lock);
        while (pool.in == pool.out && !pool.closed)
            pthread_cond_wait(&pool.work, &pool.lock);
        if (pool.in != pool.out)
            t = pool.tasks[pool.out++];
        pthread_mutex_unlock(&pool.lock);
        if (!t.cell)
            return arg;
        *t.cell = t.value * t.value;
    }
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&pool.lock);
        pool.tasks[pool.in++] = (struct task){&results[i], i};
        pthread_cond_signal(&pool.work);
        pthread_mutex_unlock(&pool.lock);
    }
    pthread_mutex_lock(&pool.lock);
    pool.closed = 1;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return results[3] != 9;
}
