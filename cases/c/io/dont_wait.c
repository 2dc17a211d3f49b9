//@ expect: none
// Sending and receiving with MSG_DONTWAIT hands data over like any other.
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

static int pair[2];
int data;

static void *gives(void *p)
{
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
    while (recv(pair[0], &c, 1, MSG_DONTWAIT) != 1)
        sched_yield();
    data++;
    pthread_join(thread, 0);
    return data == 2 ? 0 : 1;
}
