//@ expect: real
// The write comes after the release: only what is before it is published.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;
int early, late;

static void *sender(void *arg) {
    early = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    late = 1; // RACE!(a)
    return arg;
}

static void *receiver(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        ;
    long sum = early;
    sum += late; // RACE!(a)
    return (void *)sum;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, receiver, 0);
    pthread_create(&u, 0, sender, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
