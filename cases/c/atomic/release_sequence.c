//@ expect: none
// A relaxed read-modify-write of another thread continues the release sequence: who reads its value with
// acquire synchronises with the head.
#include <pthread.h>
#include <stdatomic.h>

atomic_int state;
int data;

static void *head(void *arg) {
    data = 1;
    atomic_store_explicit(&state, 1, memory_order_release);
    return arg;
}

static void *middle(void *arg) {
    int expected = 1;
    while (!atomic_compare_exchange_weak_explicit(&state, &expected, 2, memory_order_relaxed, memory_order_relaxed))
        expected = 1;
    atomic_fetch_add_explicit(&state, 1, memory_order_relaxed);
    return arg;
}

static void *tail(void *arg) {
    (void)arg;
    while (atomic_load_explicit(&state, memory_order_acquire) != 3)
        ;
    return (void *)(long)data;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, tail, 0);
    pthread_create(&t[1], 0, middle, 0);
    pthread_create(&t[2], 0, head, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return data != 1;
}
