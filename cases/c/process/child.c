//@ expect: real
// The child of a fork has threads of its own: it stays under control, and its race is found.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

int counter;

static void *count(void *p)
{
    counter++; // RACE!(a)
    return p;
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], 0, count, 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], 0);
        _exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
