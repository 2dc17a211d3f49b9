//@ expect: real
//@ client: bash -c 'exec 3<>/dev/tcp/127.0.0.1/7782; echo a >&3; read -r x <&3; test "$x" = a'
//@ levels: O1 a run costs what its client costs, at any level
// A server that leaves its terminal and its parent (fork, setsid), with a thread beside: the daemon is followed, and ends
// by the signal that it is sent when its client is done.
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

int state;

static void *count(void *p)
{
    state++; // RACE!(a)
    return p;
}

int main(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7782)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at))
        return 1;
    if (fork() != 0)
        _exit(0);
    setsid();
    listen(fd, 8);
    for (;;) {
        int one = accept(fd, 0, 0);
        char line[16];
        pthread_t thread;
        pthread_create(&thread, 0, count, 0);
        ssize_t n = read(one, line, sizeof line);
        state += (int)n; // RACE!(a)
        pthread_join(thread, 0);
        if (write(one, line, n) != n)
            return 1;
        close(one);
    }
}
