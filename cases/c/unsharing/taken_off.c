//@ expect: none
//@ stages: scan
// RELAY's figure 9: taken off the list under the lock, used without it. Known to look like a race.
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};
struct node *list;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    struct node *mine;
    pthread_mutex_lock(&lock);
    mine = list;
    if (mine)
        list = mine->next;
    pthread_mutex_unlock(&lock);
    if (mine)
        mine->value++; // MAY(scan:a) only this thread has it now
    return arg;
}

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 3; i++) {
        struct node *n = calloc(1, sizeof *n);
        n->next = list;
        list = n;
    }
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
