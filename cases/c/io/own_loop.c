//@ expect: harmful(abort)
// An event loop waits for descriptors of the program's own, which takes no real time. Its limits hold in virtual time, and
// what another thread of the program writes comes before they are over.
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { UNIT = 10 };
static int loop, bell, tube[2], listens, served;

static void watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (fd < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event))
        abort();
}

static void *writes(void *a)
{
    struct pollfd end = {.fd = tube[1], .events = POLLIN};
    poll(&end, 1, 5 * UNIT); // nobody closes the other end
    served = 1; // RACE!(a)
    eventfd_write(bell, 1);
    return a;
}

int main(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event;
    struct timespec begun, now;
    pthread_t t;
    loop = epoll_create1(EPOLL_CLOEXEC);
    listens = socket(AF_INET, SOCK_STREAM, 0);
    if (pipe(tube) || bind(listens, (void *)&here, sizeof here) || listen(listens, 1))
        abort();
    watch(listens);
    watch(bell = eventfd(0, 0));
    watch(tube[0]);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    pthread_create(&t, 0, writes, 0);
    int came = epoll_wait(loop, &event, 1, 3 * UNIT);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!came && (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < 3 * UNIT)
        abort();
    if (served) // RACE!(a)
        abort();
    if (!came && (epoll_wait(loop, &event, 1, 90 * UNIT) != 1 || event.data.fd != bell))
        abort();
    pthread_join(t, 0);
    return 0;
}
