//@ expect: none
// Timers that send signals go by the clock that the program reads: a watchdog of five seconds does not bark at work
// that takes less, and barks in time where nothing is done.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int barked;

static void bark(int signal, siginfo_t *info, void *p)
{
    (void)signal, (void)p;
    assert(info->si_code == SI_TIMER && info->si_value.sival_int == 7);
    barked++;
}

static void *naps(void *p)
{
    for (int i = 0; i < 10; i++)
        usleep(1000);
    return p;
}

int main(void)
{
    pthread_t t;
    timer_t timer;
    struct sigaction action = {.sa_sigaction = bark, .sa_flags = SA_SIGINFO};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 7};
    struct itimerspec left, far = {.it_value = {5, 0}}, near = {.it_value = {0, 20000000}}, none = {.it_value = {0, 0}};
    sigaction(SIGRTMIN, &action, 0);
    assert(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    timer_settime(timer, 0, &far, 0);
    pthread_create(&t, 0, naps, 0);
    pthread_join(t, 0);
    assert(timer_gettime(timer, &left) == 0 && left.it_value.tv_sec == 4);
    assert(barked == 0);
    timer_settime(timer, 0, &near, &left);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (!barked)
        pause();
    clock_gettime(CLOCK_MONOTONIC, &end);
    long passed = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
    assert(passed >= 19 && timer_getoverrun(timer) == 0);
    timer_settime(timer, 0, &none, 0);
    return timer_delete(timer);
}
