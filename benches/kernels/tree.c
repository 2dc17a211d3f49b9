/* A binary tree and a list under one lock: two threads look up, insert and now and then walk the list.
   Pointer chasing, one contended mutex. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 60000, LOOKUPS = 500000, WALK_EVERY = 40000, THREADS = 2 };

struct node {
    unsigned key;
    unsigned long hits;
    struct node *left, *right, *next;
};

static struct node *root, *head;
static unsigned long total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct node *find(unsigned key) {
    struct node **place = &root;
    while (*place && (*place)->key != key)
        place = key < (*place)->key ? &(*place)->left : &(*place)->right;
    if (!*place) {
        struct node *node = calloc(1, sizeof *node);
        node->key = key;
        node->next = head;
        head = *place = node;
    }
    return *place;
}

static unsigned long walk(void) {
    unsigned long sum = 0;
    for (struct node *node = head; node; node = node->next)
        sum += node->hits;
    return sum;
}

static void *work(void *argument) {
    unsigned random = 777 + (unsigned)(long)argument;
    unsigned long sum = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        random = random * 1664525 + 1013904223;
        unsigned key = (random >> 8) % KEYS * 2654435761u >> 12;
        pthread_mutex_lock(&mutex);
        sum += ++find(key)->hits; /* PAIR */
        if (i % WALK_EVERY == 0)
            sum += walk();
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    total += sum;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%lu\n", walk());
    return total == 0;
}
