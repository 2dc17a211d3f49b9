//@ expect: none
//@ stages: scan
// An object that no other thread ever knows of.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};
struct node *list;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int sum(struct node *n) {
    int all = 0;
    for (; n; n = n->next)
        all += n->value;
    return all;
}

static void *worker(void *arg) {
    struct node *n = malloc(sizeof *n);
    n->next = 0;
    n->value = 4;
    long all = sum(n);
    free(n);
    return arg ? arg : (void *)all;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
