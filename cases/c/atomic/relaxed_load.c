//@ expect: real
// A release store that is read by a relaxed load synchronises with nothing.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;
int data;

static void *sender(void *arg) {
    data = 1; // RACE!(a)
    atomic_store_explicit(&flag, 1, memory_order_release);
    return arg;
}

static void *receiver(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        ;
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
