//@ expect: none
// Calls by number that wait for descriptors, with a limit.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void *writes(void *a)
{
    usleep(1000);
    if (write(ends[1], "x", 1) != 1)
        abort();
    return a;
}

static void waits(int selects, int set)
{
    pthread_t t;
    char byte;
    struct timespec limit = {.tv_sec = 7};
    struct epoll_event event;
    fd_set wanted;
    FD_ZERO(&wanted);
    FD_SET(ends[0], &wanted);
    pthread_create(&t, 0, writes, 0);
    long came = selects ? syscall(SYS_pselect6, ends[0] + 1, &wanted, 0, 0, &limit, 0)
                        : syscall(SYS_epoll_pwait2, set, &event, 1, &limit, 0, 8);
    if (came != 1 || read(ends[0], &byte, 1) != 1)
        abort();
    pthread_join(t, 0);
}

int main(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(0);
    if (pipe(ends) || epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event))
        abort();
    waits(0, set);
    waits(1, set);
    return 0;
}
