//@ expect: none
// Blocking system calls made by number: the turn is given up in them as in the library's functions.
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
int data;

static void *give(void *p)
{
    struct timespec short_time = {0, 1000};
    syscall(SYS_nanosleep, &short_time, 0);
    data = 7;
    syscall(SYS_write, ends[1], "x", 1L);
    return p;
}

int main(void)
{
    if (pipe(ends))
        return 1;
    pthread_t thread;
    pthread_create(&thread, 0, give, 0);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    syscall(SYS_poll, &one, 1L, -1L);
    char c;
    syscall(SYS_read, ends[0], &c, 1L);
    int seen = data;
    pthread_join(thread, 0);
    return seen == 7 ? 0 : 1;
}
