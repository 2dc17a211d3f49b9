//@ expect: real
//@ stages: scan
// Written after it was published, without the lock.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};
struct node *list;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    struct node *n = malloc(sizeof *n);
    pthread_mutex_lock(&lock);
    n->next = list;
    list = n;
    pthread_mutex_unlock(&lock);
    n->value = 1; // RACE!(a)
    return arg;
}

static void *reader(void *arg) {
    pthread_mutex_lock(&lock);
    long seen = list ? list->value : 0; // RACE!(a)
    pthread_mutex_unlock(&lock);
    return arg ? arg : (void *)seen;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, reader, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
