//@ expect: real
// A compare-exchange whose success order acquires but which fails with relaxed.
#include <pthread.h>
#include <stdatomic.h>

atomic_int owner;
int data;

static void *claim(void *arg) {
    data = 4; // RACE!(a)
    atomic_store_explicit(&owner, 1, memory_order_release);
    return arg;
}

static void *look(void *arg) {
    int expected;
    (void)arg;
    do
        expected = 9;
    while (atomic_compare_exchange_strong_explicit(&owner, &expected, 2, memory_order_acquire, memory_order_relaxed) ||
           expected != 1);
    return (void *)(long)data; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, look, 0);
    pthread_create(&u, 0, claim, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return data != 4;
}
