//@ expect: atomicity
// What belongs together is done early by one thread; what comes between, late by the other, after much that does not
// matter. The story needs one preemption, and none of the locks.
#include <assert.h>
#include <pthread.h>

enum { LOCKS = 16, ROUNDS = 200 };
pthread_mutex_t locks[LOCKS], lock = PTHREAD_MUTEX_INITIALIZER;
long values[LOCKS];
int balance = 100;

static void work(unsigned seed, int rounds) {
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned n = (seed >> 16) % LOCKS;
        pthread_mutex_lock(&locks[n]);
        values[n]++;
        pthread_mutex_unlock(&locks[n]);
    }
}

static int get(void) {
    pthread_mutex_lock(&lock);
    int value = balance;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value) {
    pthread_mutex_lock(&lock);
    balance = value;
    pthread_mutex_unlock(&lock);
}

static void *early(void *arg) {
    work(1, 50);
    set(get() - 10);
    work(2, ROUNDS);
    return arg;
}

static void *late(void *arg) {
    work(3, ROUNDS);
    pthread_mutex_lock(&lock);
    balance += 5;
    pthread_mutex_unlock(&lock);
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
