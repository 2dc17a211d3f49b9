//@ expect: none
// A parent gives its child five seconds: it computes for much less. Sleeps of the parent take as long as the child does.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 500, PAUSE = 10000, WORK = 4000000 };

static void *rest(void *p)
{
    for (int i = 0; i < 20; i++)
        usleep(PAUSE);
    return p;
}

int main(void)
{
    pthread_t t;
    pid_t child = fork();
    if (child == 0) {
        volatile unsigned sum = 0;
        for (unsigned i = 0; i < WORK; i++)
            sum += i;
        _exit(0);
    }
    pthread_create(&t, 0, rest, 0);
    for (int i = 0; waitpid(child, 0, WNOHANG) == 0; i++) {
        if (i == TRIES)
            abort(); // the child hangs
        usleep(PAUSE);
    }
    pthread_join(t, 0);
    return 0;
}
