/* A chained hash table under striped mutexes: two threads count the words of a text. Short critical sections, many
   locks; the table fits a core's own cache, so that the figures are the tool's and not the neighbours'. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 12, STRIPES = 256, VOCABULARY = 6000, WORDS = 700000, LONGEST = 12, THREADS = 2 };

struct entry {
    unsigned hash, length;
    unsigned long count;
    struct entry *next;
    char word[];
};

static struct entry *buckets[BUCKETS];
static pthread_mutex_t stripes[STRIPES];
static char *texts[THREADS];

static void count(const char *word, unsigned length, unsigned hash) {
    unsigned bucket = hash % BUCKETS;
    pthread_mutex_t *stripe = &stripes[bucket % STRIPES];
    pthread_mutex_lock(stripe);
    struct entry *entry = buckets[bucket];
    while (entry && !(entry->hash == hash && entry->length == length && memcmp(entry->word, word, length) == 0))
        entry = entry->next;
    if (!entry) {
        entry = malloc(sizeof *entry + length);
        *entry = (struct entry){.hash = hash, .length = length, .count = 0, .next = buckets[bucket]};
        memcpy(entry->word, word, length);
        buckets[bucket] = entry;
    }
    entry->count++; /* PAIR */
    pthread_mutex_unlock(stripe);
}

static void *work(void *text) {
    for (const char *at = text; *at;) {
        const char *word = at;
        unsigned hash = 2166136261u;
        while (*at > ' ')
            hash = (hash ^ (unsigned char)*at++) * 16777619u;
        count(word, at - word, hash);
        while (*at && *at <= ' ')
            at++;
    }
    return NULL;
}

static unsigned long random_state = 88172645463325252ul;

static unsigned long next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Words of a vocabulary, small numbers more often than large ones. */
static char *text(void) {
    char *text = malloc((size_t)WORDS * (LONGEST + 1) + 1), *at = text;
    for (int i = 0; i < WORDS; i++) {
        unsigned long number = next_random() % VOCABULARY * (next_random() % VOCABULARY) / VOCABULARY;
        unsigned long letters = number * 0x9E3779B97F4A7C15ul;
        for (unsigned length = 3 + letters % (LONGEST - 3); length; length--, letters /= 26)
            *at++ = 'a' + letters % 26;
        *at++ = i % 10 == 9 ? '\n' : ' ';
    }
    *at = 0;
    return text;
}

int main(void) {
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i], NULL);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        texts[t] = text();
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, texts[t]);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    unsigned long sum = 0, words = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = buckets[i]; entry; entry = entry->next)
            sum += entry->count, words++;
    printf("%lu words, %lu different\n", sum, words);
    return 0;
}
