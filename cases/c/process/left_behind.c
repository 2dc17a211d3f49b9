//@ expect: none
// A child ends at once and leaves a child of its own behind, which answers later: whoever waits for the answer waits for a
// process of the run, although it is nobody's child.
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *a)
{
    return a;
}

static int answers(int computes)
{
    int ends[2];
    pid_t child;
    if (pipe(ends))
        abort();
    if ((child = fork()) == 0) {
        close(ends[0]);
        if (fork())
            _exit(0);
        for (volatile int i = 0; i < computes; i++)
            ;
        if (!computes)
            usleep(10000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    close(ends[1]);
    waitpid(child, 0, 0);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    return poll(&end, 1, 5000) == 1;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, nothing, 0);
    pthread_join(t, 0);
    if (!answers(0) || !answers(3000000))
        abort();
    return 0;
}
