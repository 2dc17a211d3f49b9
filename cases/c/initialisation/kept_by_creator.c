//@ expect: real
//@ stages: scan
// The creator writes to what it gave away.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};
struct node *list;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    struct node *mine = arg;
    mine->value++; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t t;
    struct node *n = malloc(sizeof *n);
    n->value = 1;
    pthread_create(&t, 0, worker, n);
    n->value = 2; // RACE!(a)
    pthread_join(t, 0);
    free(n);
    return 0;
}
