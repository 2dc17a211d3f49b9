//@ expect: real
// A child that outlives its parent: the run goes on until it has ended too.
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
    if (fork() != 0)
        return 0;
    setsid();
    usleep(1000);
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    counter++; // RACE!(a)
    pthread_join(thread, 0);
    return 0;
}
