//@ expect: none
// That a descriptor is ready says that somebody wrote: by poll, select and epoll, without a read.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static int a[2], b[2], c[2];
int x, y, z;

static void *writes(void *p)
{
    x = 1;
    (void)!write(a[1], "x", 1);
    y = 1;
    (void)!write(b[1], "y", 1);
    z = 1; // MAY(hunt:a) what epoll tells of is its own affair until it is read
    (void)!write(c[1], "z", 1);
    return p;
}

int main(void)
{
    pthread_t thread;
    if (pipe(a) || pipe(b) || pipe(c))
        return 0;
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, c[0], &event);
    pthread_create(&thread, 0, writes, 0);
    struct pollfd one = {.fd = a[0], .events = POLLIN};
    if (poll(&one, 1, -1) == 1)
        x++;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(b[0], &set);
    if (select(b[0] + 1, &set, 0, 0, 0) == 1)
        y++;
    if (epoll_wait(epoll, &event, 1, -1) == 1)
        z++; // MAY(hunt:a) as above
    pthread_join(thread, 0);
    return x == 2 && y == 2 && z == 2 ? 0 : 1;
}
