//@ expect: real
// The program makes its pages usable when they are touched, by a handler of its own.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

int *page, *low;

static void touched(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void *work(void *a)
{
    *page = 1; // RACE!(a)
    return a;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO}, before;
    if (sigaction(SIGSEGV, &action, &before) || before.sa_handler != SIG_DFL)
        return 1;
    if (sigaction(SIGSEGV, NULL, &before) || before.sa_sigaction != touched)
        return 2;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    low = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    *low = 1;
    int seen = *page; // RACE!(a)
    pthread_join(t, NULL);
    return seen > 1;
}
