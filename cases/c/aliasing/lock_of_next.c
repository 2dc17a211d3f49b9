//@ expect: real
//@ stages: scan
// The lock of the neighbour is held, the own state written.
#include <pthread.h>

struct conn {
    struct conn *next;
    pthread_mutex_t lock;
    int state;
} a, b = {&a, PTHREAD_MUTEX_INITIALIZER, 0}, *conns = &b;

static void *worker(void *arg) {
    for (struct conn *c = conns; c->next; c = c->next) {
        pthread_mutex_lock(&c->next->lock);
        c->state++; // RACE!(a)
        pthread_mutex_unlock(&c->next->lock);
    }
    return arg;
}

static void *right(void *arg) {
    for (struct conn *c = conns; c; c = c->next) {
        pthread_mutex_lock(&c->lock);
        c->state++; // RACE!(a)
        pthread_mutex_unlock(&c->lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, right, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
