//@ expect: none
// A wait for ten days does not run out while somebody who sleeps for a moment would end it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int data;

static void *adds(void *p)
{
    usleep(100);
    data++;
    return p;
}

int main(void)
{
    pthread_t thread;
    struct timespec until;
    pthread_create(&thread, 0, adds, 0);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 864000;
    if (pthread_clockjoin_np(thread, 0, CLOCK_MONOTONIC, &until))
        abort();
    return data == 1 ? 0 : 1;
}
