//@ expect: none
//@ stages: scan
// A function that gives back an object whose lock it has taken.
#include <pthread.h>

struct item {
    pthread_mutex_t lock;
    int count;
} items[4];

static struct item *get(int n) {
    struct item *it = &items[n & 3];
    pthread_mutex_lock(&it->lock);
    return it;
}

static void *worker(void *arg) {
    struct item *it = get((int)(long)arg);
    it->count++;
    pthread_mutex_unlock(&it->lock);
    return 0;
}

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 4; i++)
        pthread_mutex_init(&items[i].lock, 0);
    pthread_create(&t, 0, worker, (void *)1);
    pthread_create(&u, 0, worker, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
