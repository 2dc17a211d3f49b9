//@ expect: none
// Whoever waited for a signal knows what was done before it was sent; so does a handler.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static pthread_t first;
int waited_for, handled;

static void handler(int signal)
{
    (void)signal;
    handled++;
}

static void *sends(void *p)
{
    waited_for = 1;
    pthread_kill(first, SIGUSR1);
    handled = 1;
    pthread_kill(first, SIGUSR2);
    return p;
}

int main(void)
{
    int signal;
    sigset_t set, old;
    pthread_t thread;
    first = pthread_self();
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR2, &action, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&thread, 0, sends, 0);
    sigdelset(&set, SIGUSR2);
    sigwait(&set, &signal);
    waited_for++;
    sigsuspend(&old);
    handled++;
    pthread_join(thread, 0);
    return waited_for == 2 && handled == 3 ? 0 : 1;
}
