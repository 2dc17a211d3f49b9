//@ expect: none
//@ stages: scan
// Each thread has the block that its creator made for it.
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
    mine->value++;
    free(mine);
    return 0;
}

int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        struct node *n = malloc(sizeof *n);
        n->value = i;
        pthread_create(&t[i], 0, worker, n);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return 0;
}
