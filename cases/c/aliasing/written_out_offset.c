//@ expect: none
//@ stages: scan
// The object around a field, found by an offset that is written out as the address of a field of null.
#include <pthread.h>

#define around(p, type, member) ((type *)((char *)(p) - (unsigned long)(&((type *)0)->member)))

struct item {
    int count;
    pthread_mutex_t lock;
    int link;
};
static struct item one = {0, PTHREAD_MUTEX_INITIALIZER, 0}, *only = &one;

static void update(int *link) {
    struct item *item = around(link, struct item, link);
    pthread_mutex_lock(&item->lock);
    item->count++;
    pthread_mutex_unlock(&item->lock);
}

static void *worker(void *arg) {
    update(&only->link);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    update(&only->link);
    pthread_join(t, 0);
    return 0;
}
