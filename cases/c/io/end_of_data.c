//@ expect: none
// The end of data, as a reader sees it when the last writer has closed, and after a shutdown.
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2], pair[2];
int first, second;

static void *closes(void *p)
{
    first = 1;
    close(ends[1]);
    second = 1;
    shutdown(pair[1], SHUT_WR);
    return p;
}

int main(void)
{
    char c;
    pthread_t thread;
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 0;
    pthread_create(&thread, 0, closes, 0);
    if (read(ends[0], &c, 1) != 0 || first != 1)
        return 1;
    if (recv(pair[0], &c, 1, 0) != 0 || second != 1)
        return 1;
    first = second = 2;
    pthread_join(thread, 0);
    return 0;
}
