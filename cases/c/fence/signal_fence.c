//@ expect: real
// A signal fence binds the compiler, not another thread.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;
int data;

static void *sender(void *arg) {
    data = 1; // RACE!(a)
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return arg;
}

static void *receiver(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        ;
    atomic_signal_fence(memory_order_seq_cst);
    return (void *)(long)data; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, receiver, 0);
    pthread_create(&u, 0, sender, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
