// Ways in which a run ends, chosen by the argument.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *what;
static int *volatile nothing;
static volatile int never;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static int deep(int n) {
    volatile char room[4096];
    room[0] = (char)n;
    return deep(n + 1) + room[0];
}

static int is(const char *name) { return !strcmp(what, name); }

static void *work(void *argument) {
    if (is("segv"))
        *nothing = 1;
    if (is("abort"))
        abort();
    if (is("assert"))
        assert(nothing);
    if (is("overflow"))
        return (void *)(long)deep(0);
    if (is("exit"))
        exit(9);
    if (is("_exit"))
        _exit(10);
    if (is("quick_exit"))
        quick_exit(11);
    if (is("lock-order")) {
        pthread_mutex_lock(&second);
        usleep(10);
        pthread_mutex_lock(&first);
    }
    if (is("hang"))
        while (pthread_mutex_trylock(&first))
            ;
    if (is("main-leaves"))
        usleep(1000);
    return argument;
}

int main(int count, char **arguments) {
    pthread_t thread;
    what = count > 1 ? arguments[1] : "";
    pthread_create(&thread, 0, work, 0);
    if (is("lock-order")) {
        pthread_mutex_lock(&first);
        usleep(10);
        pthread_mutex_lock(&second);
    }
    if (is("self-deadlock")) {
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&first);
    }
    if (is("lost-wakeup")) {
        pthread_mutex_lock(&first);
        pthread_cond_wait(&condition, &first);
    }
    if (is("hang")) {
        pthread_mutex_lock(&first);
        while (!never)
            sched_yield();
    }
    if (is("main-leaves"))
        pthread_exit(0);
    pthread_join(thread, 0);
    return 0;
}
