//@ expect: none
// Whoever polls a timer of the kernel's until it runs out does not hang.
#include <sched.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

int main(void)
{
    uint64_t times;
    struct itimerspec soon = {.it_value = {0, 5000000}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    timerfd_settime(timer, 0, &soon, 0);
    while (read(timer, &times, sizeof times) != sizeof times)
        sched_yield();
    return 0;
}
