//@ expect: real
// The hand-over of a hand-made spin lock hides a race: its release and acquire look like a message.
#include <pthread.h>
#include <stdatomic.h>

atomic_int word;
int shared, guarded;

static void lock(void) {
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed))
        expected = 0;
}

static void unlock(void) {
    atomic_store_explicit(&word, 0, memory_order_release);
}

static void *before(void *arg) {
    shared++; // RACE!(a)
    lock();
    guarded++;
    unlock();
    return arg;
}

static void *after(void *arg) {
    lock();
    guarded++;
    unlock();
    shared++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, before, 0);
    pthread_create(&u, 0, after, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return guarded != 2 || shared == 0;
}
