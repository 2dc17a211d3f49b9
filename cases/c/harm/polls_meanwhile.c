//@ expect: real
// Whoever polls without waiting, and gives way between, does not hang while the thread that it polls for is held back.
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

static int pair[2];
int data, other;

static void *gives(void *p)
{
    other = 1; // RACE!(a)
    data = 1;
    send(pair[1], "x", 1, MSG_DONTWAIT);
    return p;
}

int main(void)
{
    char c;
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 0;
    pthread_create(&thread, 0, gives, 0);
    other = 2; // RACE!(a)
    while (recv(pair[0], &c, 1, MSG_DONTWAIT) != 1)
        sched_yield();
    data++;
    pthread_join(thread, 0);
    return data == 2 ? 0 : 1;
}
