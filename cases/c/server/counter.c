//@ expect: real
//@ client: bash -c 'exec 3<>/dev/tcp/127.0.0.1/7781 4<>/dev/tcp/127.0.0.1/7781; echo a >&3; echo b >&4; read -r x <&3; read -r y <&4; test "$x$y" = ab'
//@ levels: O1 a run costs what its client costs, at any level
// A thread for each connection, and a counter that the threads share without a lock. The client is outside of control.
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

int served;
static volatile sig_atomic_t stop;

static void on_term(int signal)
{
    (void)signal;
    stop = 1;
}

static void *serve(void *p)
{
    int fd = (int)(long)p;
    char line[16];
    ssize_t n;
    while ((n = read(fd, line, sizeof line)) > 0) {
        served++; // RACE!(a)
        if (write(fd, line, n) != n)
            break;
    }
    close(fd);
    return 0;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7781)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 8))
        return 1;
    while (!stop) {
        int one = accept(fd, 0, 0);
        pthread_t thread;
        if (one >= 0 && !pthread_create(&thread, 0, serve, (void *)(long)one))
            pthread_detach(thread);
    }
    return 0;
}
