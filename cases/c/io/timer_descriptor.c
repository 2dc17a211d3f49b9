//@ expect: none
// A timer's descriptor agrees with the clock, whether it is read, polled or found ready by epoll.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *other(void *p)
{
    usleep(40000);
    return p;
}

int main(void)
{
    pthread_t t;
    uint64_t times;
    struct itimerspec left, every = {{0, 10000000}, {0, 20000000}}, once = {.it_value = {0, 30000000}};
    pthread_create(&t, 0, other, 0);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    long start = now();
    timerfd_settime(timer, 0, &every, 0);
    assert(read(timer, &times, sizeof times) == sizeof times && times >= 1);
    assert(now() - start >= 19);
    usleep(100000);
    timerfd_gettime(timer, &left);
    assert(left.it_value.tv_nsec <= 10000000 && left.it_interval.tv_nsec == 10000000);
    assert(read(timer, &times, sizeof times) == sizeof times && times >= 9);

    start = now();
    timerfd_settime(timer, 0, &once, 0);
    struct pollfd one = {.fd = timer, .events = POLLIN};
    assert(poll(&one, 1, 10) == 0);
    assert(poll(&one, 1, 10000) == 1 && now() - start >= 29 && now() - start < 10000);
    assert(read(timer, &times, sizeof times) == sizeof times && times == 1);

    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, timer, &event);
    clock_gettime(CLOCK_MONOTONIC, &once.it_value);
    once.it_value.tv_nsec += once.it_value.tv_nsec < 950000000 ? 50000000 : 0;
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, 0);
    usleep(60000);
    assert(epoll_wait(set, &event, 1, 0) == 1);
    pthread_join(t, 0);
    return 0;
}
