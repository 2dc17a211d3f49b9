//@ expect: none
// A lock in a file that assembly at file level includes: what it orders is not seen, so nothing is called unordered.
#include <pthread.h>
#include <sched.h>

__asm__(".include \"" __FILE__ ".s\"");
int taken(void);
void give(void);
int data;

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
