//@ expect: none
// A lock in functions that are named like the pass's own: they have no sites, so nothing is called unordered.
#include <pthread.h>
#include <sched.h>

static int word;
int data;

__attribute__((noinline)) int dh_taken(void)
{
    return __atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE);
}

__attribute__((noinline)) void dh_give(void)
{
    __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
}

static void *adds(void *p)
{
    while (dh_taken())
        sched_yield();
    data++; // MAY(hunt:a) the lock is not seen
    dh_give();
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
