//@ expect: real
//@ stages: scan
// The lock of one element guards that element, not the next one.
#include <pthread.h>

struct entry {
    pthread_mutex_t lock;
    int count, next;
} table[9];

static void touch(struct entry *entry) {
    pthread_mutex_lock(&entry->lock);
    entry[0].count++;
    entry[1].next++; // RACE!(a)
    pthread_mutex_unlock(&entry->lock);
}

static void *worker(void *arg) {
    for (int i = 0; i < 8; i++) {
        touch(&table[i]);
        pthread_mutex_lock(&table[i].lock);
        table[i].next++; // RACE!(a)
        pthread_mutex_unlock(&table[i].lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 9; i++)
        pthread_mutex_init(&table[i].lock, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
