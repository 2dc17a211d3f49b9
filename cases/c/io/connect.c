//@ expect: none
// Whoever accepts a connection knows what was done before it was asked for.
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address;
int data;

static void *ask(void *p)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    data = 1;
    if (connect(s, (struct sockaddr *)&address, sizeof address))
        _exit(0);
    close(s);
    return p;
}

int main(void)
{
    socklen_t len = sizeof address;
    int s = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(s, (struct sockaddr *)&address, len) || getsockname(s, (struct sockaddr *)&address, &len) || listen(s, 4))
        return 0;
    pthread_t thread;
    pthread_create(&thread, 0, ask, 0);
    int c = accept(s, 0, 0);
    data++;
    pthread_join(thread, 0);
    close(c);
    close(s);
    return data == 2 ? 0 : 1;
}
