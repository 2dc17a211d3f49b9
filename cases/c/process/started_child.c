//@ expect: none
// A program that was started answers within its time, and is then gone within its time; so is one of another compiler.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
enum { TRIES = 500, PAUSE = 10000, WORK = 4000000 };

static void *starts(void *arguments)
{
    char **words = arguments;
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) || fcntl(ends[0], F_SETFD, FD_CLOEXEC) || fcntl(ends[1], F_SETFD, FD_CLOEXEC))
        abort();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (posix_spawnp(&child, words[0], &actions, 0, words, environ))
        abort();
    close(ends[1]);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    if (poll(&one, 1, 1000) != 1)
        abort(); // no answer
    for (int i = 0; waitpid(child, 0, WNOHANG) == 0; i++) {
        if (i == TRIES || kill(child, 0))
            abort(); // it does not end
        usleep(PAUSE);
    }
    close(ends[0]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        volatile unsigned sum = 0;
        for (unsigned i = 0; i < WORK; i++)
            sum += i;
        puts("done");
        return 0;
    }
    char *same[] = {argv[0], "again", 0};
    char *other[] = {"sh", "-c", "sleep 0.1; echo done; sleep 0.1", 0};
    pthread_t a, b;
    pthread_create(&a, 0, starts, same);
    pthread_create(&b, 0, starts, other);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
