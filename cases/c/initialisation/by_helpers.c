//@ expect: none
//@ stages: scan
// RELAY's figure 8: a helper allocates and hands out through a pointer, its caller goes on initialising.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};
struct node *list;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fill(struct node *n, int value) { n->value = value; }

static int create(struct node **out) {
    struct node *n = malloc(sizeof *n);
    if (!n)
        return -1;
    fill(n, 0);
    *out = n;
    return 0;
}

static void *worker(void *arg) {
    struct node *n;
    if (create(&n) < 0)
        return 0;
    n->value = 5;
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
