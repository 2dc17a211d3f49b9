//@ expect: atomicity
// Eight threads work at sixty-four places under sixteen locks. One of them reads and writes the balance in two critical
// sections, another changes it in one, much later: what is directed at the locks of one group interrupts the first.
#include <assert.h>
#include <pthread.h>

#define PLACE(n) \
    __attribute__((noinline)) static void place##n(void) { \
        pthread_mutex_lock(&locks[n % 16]); \
        values[n % 16] += n; \
        pthread_mutex_unlock(&locks[n % 16]); \
    }
#define FOUR(what, n) what(n##0) what(n##1) what(n##2) what(n##3)
#define ALL(what) \
    FOUR(what, 1) FOUR(what, 2) FOUR(what, 3) FOUR(what, 4) FOUR(what, 5) FOUR(what, 6) FOUR(what, 7) FOUR(what, 8) \
    FOUR(what, 9) FOUR(what, 10) FOUR(what, 11) FOUR(what, 12) FOUR(what, 13) FOUR(what, 14) FOUR(what, 15) FOUR(what, 16)
#define NAME(n) place##n,

static pthread_mutex_t locks[16], lock = PTHREAD_MUTEX_INITIALIZER;
static long values[16], balance = 100;
ALL(PLACE)
static void (*const places[])(void) = {ALL(NAME)};

static void work(unsigned seed, int rounds) {
    for (; rounds > 0; rounds--) {
        seed = seed * 1103515245 + 12345;
        places[(seed >> 16) % 64]();
    }
}

static long change(long by, int sets, long to) {
    pthread_mutex_lock(&lock);
    long before = balance;
    balance = sets ? to : balance + by;
    pthread_mutex_unlock(&lock);
    return before;
}

static void *thread(void *arg) {
    long id = (long)arg;
    work(id, 40);
    if (id == 2)
        change(0, 1, change(0, 0, 0) - 10);
    work(id + 8, 80);
    if (id == 5)
        change(5, 0, 0);
    work(id + 16, 40);
    return 0;
}

int main(void) {
    pthread_t threads[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], 0, thread, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], 0);
    assert(balance == 95);
    return 0;
}
