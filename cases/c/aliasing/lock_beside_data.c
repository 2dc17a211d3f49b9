//@ expect: none
//@ stages: scan
// Objects that are known by pointers only: the lock stands beside the data.
#include <pthread.h>
#include <stdlib.h>

struct conn {
    struct conn *next;
    pthread_mutex_t lock;
    int state;
} *conns;

static void *worker(void *arg) {
    for (struct conn *c = conns; c; c = c->next) {
        pthread_mutex_lock(&c->lock);
        c->state++;
        pthread_mutex_unlock(&c->lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 3; i++) {
        struct conn *c = calloc(1, sizeof *c);
        pthread_mutex_init(&c->lock, 0);
        c->next = conns;
        conns = c;
    }
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
