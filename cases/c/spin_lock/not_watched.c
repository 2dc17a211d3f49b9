//@ expect: none
// A lock in functions that are not to be watched: what it orders is not seen, so nothing is called unordered.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int word;
int data;

__attribute__((disable_sanitizer_instrumentation, noinline)) static int taken(void)
{
    return atomic_exchange_explicit(&word, 1, memory_order_acquire);
}

__attribute__((disable_sanitizer_instrumentation, noinline)) static void give(void)
{
    atomic_store_explicit(&word, 0, memory_order_release);
}

static void *adds(void *p)
{
    while (taken())
        sched_yield();
    data++; // MAY(hunt:a) the lock is not seen
    give();
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return data == 2 ? 0 : 1;
}
