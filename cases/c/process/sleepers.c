//@ expect: none
// Parent and child sleep by turns: who has less to sleep is first, and neither waits in real time.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int *shared;

static void turn(int after, int from)
{
    usleep(after);
    if (*shared != from)
        abort(); // too early or too late
    *shared = from + 1;
}

static void *early_and_late(void *p)
{
    turn(20000, 0);
    turn(140000, 2);
    return p;
}

int main(void)
{
    pthread_t t;
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        turn(80000, 1);
        turn(160000, 3);
        _exit(0);
    }
    pthread_create(&t, 0, early_and_late, 0);
    pthread_join(t, 0);
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
