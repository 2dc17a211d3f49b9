/* A chained hash table under striped mutexes: two threads count keys. Short critical sections, many locks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 1 << 16, STRIPES = 256, KEYS = 400000, COUNTS = 800000, THREADS = 2 };

struct entry {
    unsigned long key, count;
    struct entry *next;
};

static struct entry *buckets[BUCKETS];
static pthread_mutex_t stripes[STRIPES];

static unsigned bucket_of(unsigned long key) {
    return (key * 0x9E3779B97F4A7C15ul >> 40) % BUCKETS;
}

static void count(unsigned long key) {
    unsigned bucket = bucket_of(key);
    pthread_mutex_t *stripe = &stripes[bucket % STRIPES];
    pthread_mutex_lock(stripe);
    struct entry *entry = buckets[bucket];
    while (entry && entry->key != key)
        entry = entry->next;
    if (!entry) {
        entry = malloc(sizeof *entry);
        *entry = (struct entry){.key = key, .count = 0, .next = buckets[bucket]};
        buckets[bucket] = entry;
    }
    entry->count++; /* PAIR */
    pthread_mutex_unlock(stripe);
}

static void *work(void *argument) {
    unsigned long random = (long)argument + 88172645463325252ul;
    for (int i = 0; i < COUNTS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        count(random % KEYS);
    }
    return NULL;
}

int main(void) {
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i], NULL);
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    unsigned long sum = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = buckets[i]; entry; entry = entry->next)
            sum += entry->count;
    printf("%lu\n", sum);
    return 0;
}
