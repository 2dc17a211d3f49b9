//@ expect: none
// siglongjmp out of a handler gives the signal mask back, so that the next signal comes too.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static volatile sig_atomic_t caught;

static void handler(int signal)
{
    (void)signal;
    caught++;
    siglongjmp(back, 1);
}

static void *run(void *p)
{
    signal(SIGUSR1, handler);
    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR1);
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return caught == 3 ? 0 : 1;
}
