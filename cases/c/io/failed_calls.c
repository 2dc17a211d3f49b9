//@ expect: none
// Errors tell too: nobody reads any more, the queue is gone.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/msg.h>
#include <unistd.h>

static int ends[2], queue;
int a, b;

static void *ends_both(void *p)
{
    a = 1; // MAY(hunt:a) not predicted
    close(ends[0]);
    b = 1; // MAY(hunt:b) not predicted
    msgctl(queue, IPC_RMID, 0);
    return p;
}

int main(void)
{
    pthread_t thread;
    struct { long kind; char text; } message;
    signal(SIGPIPE, SIG_IGN);
    queue = msgget(IPC_PRIVATE, 0600);
    if (queue < 0 || pipe(ends))
        return 0;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    pthread_create(&thread, 0, ends_both, 0);
    while (write(ends[1], "x", 1) >= 0 || errno != EPIPE)
        usleep(10);
    a++; // MAY(hunt:a) not predicted
    while (msgrcv(queue, &message, 1, 0, 0) >= 0 || (errno != EIDRM && errno != EINVAL))
        usleep(10);
    b++; // MAY(hunt:b) not predicted
    pthread_join(thread, 0);
    return a == 2 && b == 2 ? 0 : 1;
}
