//@ expect: none
// Ranges that touch but do not overlap, split at an odd byte.
#include <pthread.h>
#include <string.h>

char buffer[101];
size_t split = 37;

static void *low(void *arg) {
    memset(buffer, 1, split);
    return arg;
}

static void *high(void *arg) {
    memset(buffer + split, 2, sizeof buffer - split);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, low, 0);
    pthread_create(&u, 0, high, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return buffer[36] != 1 || buffer[37] != 2;
}
