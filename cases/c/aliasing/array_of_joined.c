//@ expect: none
//@ stages: scan
// The lock that an item's class chooses, taken by many callers of one function under as many names.
#include <pthread.h>

struct item {
    unsigned char class;
    int size;
};
pthread_mutex_t locks[4];
int sizes[4];

static __attribute__((noinline)) void add(struct item *item) { sizes[item->class] += item->size; }

#define CALLER(n)                                          \
    static __attribute__((noinline)) void caller_##n(struct item *item) { \
        item[n].class &= 3;                                \
        pthread_mutex_lock(&locks[item[n].class]);         \
        add(&item[n]);                                     \
        pthread_mutex_unlock(&locks[item[n].class]);       \
    }
#define FIVE(n) CALLER(n##0) CALLER(n##1) CALLER(n##2) CALLER(n##3) CALLER(n##4)
FIVE(1) FIVE(2) FIVE(3) FIVE(4) FIVE(5) FIVE(6)
#define CALL(n) caller_##n(items);
#define CALLS(n) CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4)

static void *worker(void *arg) {
    struct item items[70] = {{1, arg != 0}};
    CALLS(1) CALLS(2) CALLS(3) CALLS(4) CALLS(5) CALLS(6)
    return 0;
}

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < 4; i++)
        pthread_mutex_init(&locks[i], 0);
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
