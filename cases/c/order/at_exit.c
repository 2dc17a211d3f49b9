//@ expect: none
// What runs at exit comes after its registration, by whichever thread, and libc's list is all that orders the two.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int registered;
int before;

static void last(void)
{
    before++;
}

static void *registers(void *p)
{
    before = 1;
    atexit(last);
    atomic_store_explicit(&registered, 1, memory_order_relaxed);
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, registers, 0);
    pthread_detach(thread);
    while (!atomic_load_explicit(&registered, memory_order_relaxed))
        ;
    return 0;
}
