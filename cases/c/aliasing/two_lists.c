//@ expect: none
//@ stages: scan
// Two lists go through one function: their nodes are not the same.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};
struct list {
    struct node *head;
    pthread_mutex_t lock;
} a = {0, PTHREAD_MUTEX_INITIALIZER}, b = {0, PTHREAD_MUTEX_INITIALIZER};

static void push(struct list *l, int value) {
    struct node *n = malloc(sizeof *n);
    n->value = value;
    pthread_mutex_lock(&l->lock);
    n->next = l->head;
    l->head = n;
    pthread_mutex_unlock(&l->lock);
}

static void *first(void *arg) {
    push(&a, 1);
    return arg;
}

static void *second(void *arg) {
    push(&b, 2);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, first, 0);
    pthread_create(&u, 0, second, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
