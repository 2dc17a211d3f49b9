//@ frontends: gcc clang
//@ expect: none
// Atomics of every width, as both compilers' instrumentation has them made: release and acquire, fences, compare-exchange.
#include <pthread.h>
#include <stdatomic.h>

_Atomic unsigned char byte;
_Atomic unsigned short half;
_Atomic unsigned word;
_Atomic unsigned long whole;
int first, second, third, fourth;

static void *worker(void *arg) {
    first = 1;
    atomic_store_explicit(&byte, 1, memory_order_release);
    second = 2;
    atomic_fetch_add_explicit(&half, 1, memory_order_acq_rel);
    third = 3;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&word, 1, memory_order_relaxed);
    fourth = 4;
    unsigned long none = 0;
    atomic_compare_exchange_strong(&whole, &none, 9);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    while (!atomic_load_explicit(&byte, memory_order_acquire))
        ;
    int sum = first;
    while (!(atomic_fetch_or_explicit(&half, 0, memory_order_acquire) & 1))
        ;
    sum += second;
    while (!atomic_load_explicit(&word, memory_order_relaxed))
        ;
    atomic_thread_fence(memory_order_acquire);
    sum += third;
    unsigned long nine = 9;
    while (!atomic_compare_exchange_weak(&whole, &nine, 10))
        nine = 9;
    sum += fourth;
    pthread_join(t, 0);
    return sum != 10 || whole != 10 || atomic_exchange(&half, 0) != 1 || atomic_fetch_xor(&word, 1) != 1;
}
