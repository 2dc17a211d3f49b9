//@ expect: none
// A file that only one can make, as a lock that is never given back: whoever fails leaves the data alone.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static char name[32];
int data;

static void *adds(void *p)
{
    int fd;
    while ((fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0600)) < 0)
        sched_yield();
    data++; // MAY(hunt:a) a file as a lock is not predicted
    close(fd);
    unlink(name);
    return p;
}

int main(void)
{
    pthread_t t, u;
    snprintf(name, sizeof name, "lock.%d", (int)getpid());
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return data == 2 ? 0 : 1;
}
