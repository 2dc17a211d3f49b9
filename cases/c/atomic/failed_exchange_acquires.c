//@ expect: none
// A compare-exchange that fails is a load with the failure order, here acquire.
#include <pthread.h>
#include <stdatomic.h>

atomic_int owner;
int data;

static void *claim(void *arg) {
    data = 4;
    atomic_store_explicit(&owner, 1, memory_order_release);
    return arg;
}

static void *look(void *arg) {
    int expected;
    (void)arg;
    do
        expected = 9;
    while (atomic_compare_exchange_strong_explicit(&owner, &expected, 2, memory_order_relaxed, memory_order_acquire) ||
           expected != 1);
    return (void *)(long)data;
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, look, 0);
    pthread_create(&u, 0, claim, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 4;
}
