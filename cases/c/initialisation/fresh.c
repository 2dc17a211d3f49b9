//@ expect: none
//@ stages: scan
// Initialised while nobody else knows of it, then published under the lock.
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
    n->value = 1;
    pthread_mutex_lock(&lock);
    n->next = list;
    list = n;
    list->value++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
