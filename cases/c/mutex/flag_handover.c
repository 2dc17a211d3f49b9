//@ expect: none
// Data handed over by a flag under a mutex, in the way of figure 1: the locksets are disjoint, but the
// reader goes on only after it saw the flag. A suspicion is right, a proof would be wrong.
#include <pthread.h>
#include <sched.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int done, result;

static void *producer(void *arg) {
    result = 5; // WARN(hunt:a) the flag orders it
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *consumer(void *arg) {
    int seen = 0;
    (void)arg;
    while (!seen) {
        pthread_mutex_lock(&lock);
        seen = done;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    return (void *)(long)result; // WARN(hunt:a) the flag orders it
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, producer, 0);
    pthread_create(&u, 0, consumer, 0);
    pthread_join(t, 0);
    pthread_join(u, &r);
    return (long)r != 5;
}
