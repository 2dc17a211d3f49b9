/* Bytes and memcpy: two threads take lines out of a shared text, escape, copy, change and hash them. Accesses
   of one byte, string functions, private buffers on the heap. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1 << 20, ROUNDS = 50, LINE = 8192, THREADS = 2 };

static char *text;
static unsigned long result;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int escape(char *to, const char *from, int length) {
    int out = 0;
    for (int i = 0; i < length; i++) {
        if (from[i] == 'q' || from[i] == '\\')
            to[out++] = '\\';
        to[out++] = from[i];
    }
    to[out] = 0;
    return out;
}

static void upper(char *line, int length) {
    for (int i = 0; i < length; i++)
        if (line[i] >= 'a' && line[i] <= 'z')
            line[i] -= 'a' - 'A';
}

static unsigned long hash(const char *line) {
    unsigned long hash = 5381;
    while (*line)
        hash = hash * 33 ^ (unsigned char)*line++;
    return hash;
}

static void *work(void *argument) {
    long self = (long)argument;
    char *escaped = malloc(LINE), *copy = malloc(LINE);
    unsigned *histogram = calloc(256, sizeof *histogram);
    unsigned long sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int at = self * LENGTH / THREADS, end = (self + 1) * LENGTH / THREADS; at < end;) {
            int stop = at;
            while (stop < end && text[stop] != '\n')
                stop++;
            int length = escape(escaped, text + at, stop - at);
            memcpy(copy, escaped, length + 1);
            upper(copy, length);
            for (int i = 0; i < length; i++)
                histogram[(unsigned char)copy[i]]++;
            sum += hash(copy);
            at = stop + 1;
        }
    pthread_mutex_lock(&mutex);
    result += sum + histogram['E']; /* PAIR */
    pthread_mutex_unlock(&mutex);
    free(escaped);
    free(copy);
    free(histogram);
    return NULL;
}

int main(void) {
    text = malloc(LENGTH + 1);
    unsigned random = 1;
    for (int i = 0; i < LENGTH; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (random >> 24) % 60 == 0 ? '\n' : 'a' + (random >> 16) % 26;
    }
    text[LENGTH] = 0;
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%lu\n", result);
    return 0;
}
