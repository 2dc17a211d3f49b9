//@ expect: none
//@ stages: hunt
// What the kernel keeps of each thread is its own, however often others run between.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void turn(void) {
    pthread_mutex_lock(&lock);
    turns++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *argument) {
    long number = (long)argument;
    pid_t id = gettid();
    char name[16], seen[32] = "";
    snprintf(name, sizeof name, "worker %ld", number);
    prctl(PR_SET_NAME, name);
    setpriority(PRIO_PROCESS, 0, (int)number);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (number == 2) pthread_sigmask(SIG_BLOCK, &set, 0);
    for (int i = 0; i < 5; i++) {
        turn();
        assert(gettid() == id && syscall(SYS_gettid) == id);
        turn();
        assert(getpriority(PRIO_PROCESS, 0) == number);
        turn();
        assert(!pthread_sigmask(SIG_BLOCK, 0, &set) && sigismember(&set, SIGUSR1) == (number == 2));
        turn();
        int fd = open("/proc/thread-self/comm", O_RDONLY);
        assert(read(fd, seen, sizeof seen) > 0 && !strncmp(seen, name, strlen(name)));
        close(fd);
    }
    return 0;
}

int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return turns != 60;
}
