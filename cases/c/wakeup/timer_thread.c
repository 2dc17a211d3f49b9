//@ expect: none
// A thread of the C library's own, made for a timer, posts the semaphore that main waits for.
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t fired;

static void fire(union sigval unused) {
    (void)unused;
    sem_post(&fired);
}

int main(void) {
    sem_init(&fired, 0, 0);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = fire};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        return 1;
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    timer_settime(timer, 0, &soon, 0);
    return sem_wait(&fired);
}
