//@ expect: atomicity
// What belongs together is done early by one thread; what comes between, late by the other, after much that does not
// matter. The variable is atomic, the locks are beside the point.
#include <assert.h>
#include <pthread.h>

enum { LOCKS = 16, ROUNDS = 200 };
pthread_mutex_t locks[LOCKS];
long values[LOCKS];
_Atomic int balance = 100;

static void work(unsigned seed, int rounds) {
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned n = (seed >> 16) % LOCKS;
        pthread_mutex_lock(&locks[n]);
        values[n]++;
        pthread_mutex_unlock(&locks[n]);
    }
}

static void *early(void *arg) {
    work(1, 50);
    balance = balance - 10;
    work(2, ROUNDS);
    return arg;
}

static void *late(void *arg) {
    work(3, ROUNDS);
    balance += 5;
    work(4, 10);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, early, 0);
    pthread_create(&u, 0, late, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(balance == 95);
    return 0;
}
