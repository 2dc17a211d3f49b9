//@ expect: none
// The C library locks or keeps per thread what it shares: errno, stdio, the allocator, time.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *worker(void *arg) {
    char text[64];
    struct tm parts;
    time_t now = time(0);
    errno = 0;
    close(-1);
    int e = errno;
    gmtime_r(&now, &parts);
    snprintf(text, sizeof text, "thread %ld, year %d", (long)arg, parts.tm_year);
    char *copy = strdup(text);
    if (!copy)
        return 0;
    printf("%s, error %d\n", copy, e);
    long length = (long)strlen(copy);
    free(copy);
    return (void *)length;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, (void *)1);
    pthread_create(&u, 0, worker, (void *)2);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
