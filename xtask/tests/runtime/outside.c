// Signals, cancellation, sockets within the process, fork with a pipe; chosen by the argument.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t alarms, handled;
static pthread_t target;
static int go, port, interrupted, waited;
static long count;

static void on_alarm(int signal) {
    (void)signal;
    alarms++;
}

static void on_user(int signal) {
    (void)signal;
    if (pthread_equal(pthread_self(), target))
        handled++;
}

static void *reader(void *pipe_end) {
    char byte;
    pthread_mutex_lock(&mutex);
    while (!go)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    while (handled < 6)
        if (read(*(int *)pipe_end, &byte, 1) < 0 && errno == EINTR)
            interrupted++;
    return 0;
}

static void *waiter(void *argument) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigwait(&set, &waited);
    return argument;
}

static void signals(void) {
    int ends[2];
    struct sigaction action;
    struct itimerval timer = {{0, 10000}, {0, 10000}}, off = {{0, 0}, {0, 0}};
    pthread_t other;
    sigset_t set;
    if (pipe(ends))
        exit(1);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, 0);
    action.sa_handler = on_user;
    sigaction(SIGUSR1, &action, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&target, 0, reader, ends);
    pthread_create(&other, 0, waiter, 0);
    setitimer(ITIMER_REAL, &timer, 0);
    for (int i = 0; i < 3; i++) {
        usleep(1000);
        pthread_kill(target, SIGUSR1);
    }
    pthread_mutex_lock(&mutex);
    go = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    while (handled < 6) {
        struct timespec time = {0, 2000000};
        nanosleep(&time, 0);
        pthread_kill(target, SIGUSR1);
    }
    pthread_join(target, 0);
    while (alarms < 5)
        pause();
    setitimer(ITIMER_REAL, &off, 0);
    pthread_kill(other, SIGUSR2);
    pthread_join(other, 0);
    printf("interrupted %d waited %d alarms %d handled %d\n", interrupted > 0, waited, alarms >= 5, handled >= 6);
}

static void cleanup(void *argument) {
    (void)argument;
    puts("cleanup");
    pthread_mutex_unlock(&mutex);
}

static void *waits(void *argument) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(cleanup, 0);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    return argument;
}

static void *sleeps(void *argument) {
    sleep(100);
    return argument;
}

static void cancel(void) {
    pthread_t threads[2];
    void *results[2];
    pthread_create(&threads[0], 0, waits, 0);
    pthread_create(&threads[1], 0, sleeps, 0);
    usleep(1000);
    for (int i = 0; i < 2; i++)
        pthread_cancel(threads[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &results[i]);
    printf("%d %d\n", results[0] == PTHREAD_CANCELED, results[1] == PTHREAD_CANCELED);
}

static void *client(void *argument) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    char bytes[64];
    if (connect(s, (void *)&address, sizeof address))
        perror("connect");
    for (int i = 0; i < 100; i++) {
        memset(bytes, i, 64);
        send(s, bytes, 64, 0);
        for (int got = 0; got < 64;)
            got += (int)recv(s, bytes + got, 64 - got, 0);
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    }
    close(s);
    return argument;
}

static void sockets(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0), closed = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[8];
    pthread_t threads[3];
    bind(listener, (void *)&address, sizeof address);
    getsockname(listener, (void *)&address, &length);
    port = address.sin_port;
    listen(listener, 8);
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, client, 0);
    while (closed < 3) {
        int n = epoll_wait(poll, events, 8, 1000);
        for (int i = 0; i < n; i++) {
            int from = events[i].data.fd;
            char bytes[64];
            if (from == listener) {
                event.data.fd = accept(listener, 0, 0);
                epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            ssize_t got = read(from, bytes, 64);
            if (got > 0 && write(from, bytes, got) == got)
                continue;
            close(from);
            closed++;
        }
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    printf("echoed %ld\n", count);
}

static void *counts(void *argument) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void four(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, counts, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
}

static void *drains(void *pipe_end) {
    static char bytes[65536];
    long total = 0;
    for (ssize_t got; (got = read(*(int *)pipe_end, bytes, sizeof bytes)) > 0;)
        total += got;
    printf("read %ld\n", total);
    return 0;
}

static void forks(void) {
    static char bytes[300000];
    int ends[2], status;
    pthread_t thread;
    if (pipe(ends))
        exit(1);
    pthread_create(&thread, 0, drains, ends);
    four();
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        count = 0;
        four();
        for (long done = 0; done < 300000;)
            done += write(ends[1], bytes + done, 300000 - done);
        _exit(count == 4000 ? 7 : 1);
    }
    if (write(ends[1], bytes, 200000) != 200000)
        exit(1);
    waitpid(child, &status, 0);
    close(ends[1]);
    pthread_join(thread, 0);
    printf("child %d count %ld\n", WEXITSTATUS(status), count);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "signals"))
        signals();
    if (!strcmp(what, "cancel"))
        cancel();
    if (!strcmp(what, "sockets"))
        sockets();
    if (!strcmp(what, "fork"))
        forks();
    return 0;
}
