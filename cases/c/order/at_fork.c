//@ expect: none
// Handlers of fork come after their registration.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int registered;
int before;

static void prepares(void)
{
    before++;
}

static void *registers(void *p)
{
    before = 1;
    pthread_atfork(prepares, 0, 0);
    atomic_store_explicit(&registered, 1, memory_order_relaxed);
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, registers, 0);
    while (!atomic_load_explicit(&registered, memory_order_relaxed))
        ;
    if (fork() == 0)
        _exit(0);
    wait(0);
    pthread_join(thread, 0);
    return 0;
}
