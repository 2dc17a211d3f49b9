//@ expect: none
// Two threads walk a list, each lock taken before the last is given back.
#include <pthread.h>

struct node {
    pthread_mutex_t lock;
    int value;
    struct node *next;
} list[4];

static void *walk(void *arg) {
    struct node *at = &list[0];
    pthread_mutex_lock(&at->lock);
    while (at->next) {
        at->value++;
        pthread_mutex_lock(&at->next->lock);
        pthread_mutex_unlock(&at->lock);
        at = at->next;
    }
    at->value++;
    pthread_mutex_unlock(&at->lock);
    return arg;
}

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 4; i++) {
        pthread_mutex_init(&list[i].lock, 0);
        list[i].next = i < 3 ? &list[i + 1] : 0;
    }
    pthread_create(&t, 0, walk, 0);
    pthread_create(&u, 0, walk, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return list[0].value != 2 || list[3].value != 2;
}
