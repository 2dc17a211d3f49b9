//@ expect: real
//@ stages: hunt scan
// A lock that a callee gives back under a long name is not held after the call.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    pthread_mutex_t lock;
};

int data;

__attribute__((noinline)) static void leave(struct node *node) {
    pthread_mutex_unlock(&node->next->next->next->next->lock);
}

static void *worker(void *arg) {
    struct node *node = arg;
    pthread_mutex_lock(&node->next->next->next->next->lock);
    leave(node);
    data++; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t a, b;
    struct node *node = malloc(sizeof *node);
    node->next = node;
    pthread_mutex_init(&node->lock, 0);
    pthread_create(&a, 0, worker, node);
    pthread_create(&b, 0, worker, node);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
