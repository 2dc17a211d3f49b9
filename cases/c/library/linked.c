//@ expect: real
//@ libraries: part
//@ flags: -lpart
// A shared library that the program is linked with: its statements are watched, its atomics order.
#include <pthread.h>
#include <stdatomic.h>

#ifdef LIBRARY_part
int plain;
static int data;
static atomic_int ready;

void count(void)
{
    plain++; // RACE!(a)
}

void publish(void)
{
    data = 1;
    atomic_store_explicit(&ready, 1, memory_order_release);
}

int published(void)
{
    return atomic_load_explicit(&ready, memory_order_acquire) ? data : 1;
}
#else
void count(void), publish(void);
int published(void);

static void *work(void *p)
{
    publish();
    count();
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    int bad = published() != 1;
    count();
    pthread_join(thread, 0);
    return bad;
}
#endif
