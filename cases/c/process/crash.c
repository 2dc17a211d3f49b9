//@ expect: harmful(segv)
// Only the child crashes, and its parent does not look: the crash is a bad end of the run.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int *volatile place;
static int target;

static void *set(void *p)
{
    place = &target; // RACE!(a)
    return p;
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, 0, set, 0);
        usleep(1000);
        *place = 1; // RACE!(a)
        pthread_join(thread, 0);
        _exit(0);
    }
    wait(0);
    return 0;
}
