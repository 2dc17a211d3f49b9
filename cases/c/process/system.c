//@ expect: none
// A shell command that waits for what another thread writes: the others go on while it runs.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];
int data;

static void *writes(void *p)
{
    data = 1; // MAY(hunt:a) the way through the command is not predicted
    (void)!write(ends[1], "x", 1);
    return p;
}

int main(void)
{
    char command[64];
    pthread_t thread;
    if (pipe(ends))
        return 0;
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    snprintf(command, sizeof command, "head -c1 <&%d >/dev/null", ends[0]);
    pthread_create(&thread, 0, writes, 0);
    if (system(command) == 0)
        data++; // MAY(hunt:a) as above
    pthread_join(thread, 0);
    return data == 2 ? 0 : 1;
}
