//@ expect: none
// Two counters in one cache line, even in one granule of eight bytes: slow, but no race.
#include <pthread.h>

struct {
    int left, right;
} counters;

static void *left(void *arg) {
    for (int i = 0; i < 5; i++)
        counters.left++;
    return arg;
}

static void *right(void *arg) {
    for (int i = 0; i < 5; i++)
        counters.right++;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, left, 0);
    pthread_create(&u, 0, right, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counters.left != 5 || counters.right != 5;
}
