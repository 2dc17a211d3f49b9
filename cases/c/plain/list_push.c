//@ expect: real
//@ stages: hunt scan
// Nodes pushed on a list without a lock: the head is raced over, the fresh nodes are not.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long key;
};
struct node *head;

static void *push(void *arg) {
    struct node *n = malloc(sizeof *n);
    if (!n)
        return 0;
    n->key = (long)arg;
    n->next = head; // RACE!(rw)
    head = n;       // RACE!(rw) RACE!(ww)
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, push, (void *)1);
    pthread_create(&u, 0, push, (void *)2);
    pthread_join(t, 0);
    pthread_join(u, 0);
    long sum = 0;
    for (struct node *n = head; n; n = n->next)
        sum += n->key;
    return sum > 3;
}
