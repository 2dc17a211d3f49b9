//@ expect: none
// The C library's own lock, found behind the runtime: what it orders is not seen, so nothing is called unordered.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

static int (*try_lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int data;

static void *adds(void *p)
{
    while (try_lock(&m))
        sched_yield();
    data++; // MAY(hunt:a) the lock is not seen
    unlock(&m);
    return p;
}

int main(void)
{
    pthread_t t, u;
    try_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
    unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return data == 2 ? 0 : 1;
}
