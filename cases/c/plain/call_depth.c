//@ expect: real
//@ stages: hunt scan
// The racing statements lie some calls deep; inlining must not move them off their lines.
#include <pthread.h>

long hits, misses;

static void count(long *which) {
    *which += 1; // RACE!(a)
}

static void lookup(int key) {
    if (key & 1)
        count(&hits);
    else
        count(&misses);
}

static void *worker(void *arg) {
    lookup((int)(long)arg);
    lookup((int)(long)arg + 1);
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, (void *)1);
    pthread_create(&u, 0, worker, (void *)2);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return hits + misses == 0;
}
