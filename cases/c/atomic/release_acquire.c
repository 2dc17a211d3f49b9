//@ expect: none
// Message passing: a release store read by an acquire load.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;
int data;

static void *sender(void *arg) {
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    return arg;
}

static void *receiver(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        ;
    return (void *)(long)data;
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, receiver, 0);
    pthread_create(&u, 0, sender, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 1;
}
