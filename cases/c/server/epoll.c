//@ expect: none
//@ client: bash -c 'exec 3<>/dev/tcp/127.0.0.1/7783 4<>/dev/tcp/127.0.0.1/7783; echo a >&3; echo b >&4; read -r x <&3; read -r y <&4; test "$x$y" = ab'
//@ levels: O1 a run costs what its client costs, at any level
// Two threads in epoll_wait on one set, one of which the other's work wakes up; the counter has a lock.
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int served;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int set, listener;

static void *serve(void *p)
{
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(set, &event, 1, -1) != 1)
            continue;
        int fd = event.data.fd;
        if (fd == listener)
            fd = accept(listener, 0, 0);
        char line[16];
        ssize_t n = fd < 0 || fd == event.data.fd ? read(fd, line, sizeof line) : 0;
        if (n > 0) {
            pthread_mutex_lock(&lock);
            served++;
            pthread_mutex_unlock(&lock);
            if (write(fd, line, n) != n)
                return p;
        }
        struct epoll_event again = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};
        if (fd == event.data.fd && n <= 0)
            close(fd);
        else if (fd >= 0)
            epoll_ctl(set, fd == event.data.fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &again);
        again.data.fd = listener;
        if (event.data.fd == listener)
            epoll_ctl(set, EPOLL_CTL_MOD, listener, &again);
    }
}

int main(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7783)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 8))
        return 1;
    set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN | EPOLLONESHOT, .data.fd = listener});
    pthread_t thread;
    pthread_create(&thread, 0, serve, 0);
    serve(0);
}
