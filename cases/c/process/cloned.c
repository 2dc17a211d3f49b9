//@ expect: real
// The child of a `clone` with memory of its own is under control like that of a fork.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

int counter;
static sem_t over;

static void *count(void *p)
{
    counter++; // RACE!(a)
    return p;
}

static int child(void *p)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, count, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return p != 0;
}

static void *waits(void *p)
{
    sem_wait(&over);
    return p;
}

int main(void)
{
    static char stack[256 << 10] __attribute__((aligned(64)));
    pthread_t t;
    int status;
    pthread_create(&t, 0, waits, 0);
    pid_t pid = clone(child, stack + sizeof stack, SIGCHLD, 0);
    if (waitpid(pid, &status, 0) != pid || status)
        return 1;
    sem_post(&over);
    pthread_join(t, 0);
    return 0;
}
