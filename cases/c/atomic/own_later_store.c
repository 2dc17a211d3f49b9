//@ expect: none
// A later store of the thread that heads a release sequence belongs to it, by C11 (C++20 took that back).
#include <pthread.h>
#include <stdatomic.h>

int data;
atomic_int flag;

static void *gives(void *p)
{
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    return p;
}

static void *takes(void *p)
{
    if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
        data++;
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, gives, 0);
    pthread_create(&u, 0, takes, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
