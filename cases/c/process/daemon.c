//@ expect: real
// `daemon` of the C library: the parent ends inside of it, the child goes on by itself.
#include <pthread.h>
#include <unistd.h>

int counter;

static void *count(void *p)
{
    counter++; // RACE!(a)
    return p;
}

int main(void)
{
    if (daemon(1, 0))
        return 1;
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    counter++; // RACE!(a)
    pthread_join(thread, 0);
    return 0;
}
