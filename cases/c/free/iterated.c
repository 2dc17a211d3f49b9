//@ expect: harmful(use-after-free)
// A list is walked without the lock under which its nodes are unlinked and freed.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
    struct node *next;
    long value;
} *head;
volatile long sum;

static void *walk(void *arg) {
    for (struct node *n = head; n; n = n->next) // RACE!(head) RACE!(next)
        sum += n->value;                        // RACE!(value)
    return arg;
}

static void *pop(void *arg) {
    struct node *first = head;
    head = first->next; // RACE!(head)
    free(first);        // RACE!(next) RACE!(value)
    return arg;
}

int main(void) {
    pthread_t t, u;
    for (long i = 0; i < 2; i++) {
        struct node *n = malloc(sizeof *n);
        n->value = i;
        n->next = head;
        head = n;
    }
    pthread_create(&t, 0, walk, 0);
    usleep(2000); // the ordinary run is well
    pthread_create(&u, 0, pop, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    free(head);
    return 0;
}
