//@ expect: none
// What a thread finds out by asking: how much there is to read, messages in a queue, the value of a semaphore.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sem.h>
#include <unistd.h>

static int ends[2], set;
static mqd_t queue;
int a, b, c;

static void *tells(void *p)
{
    a = 1; // MAY(hunt:a) not predicted
    (void)!write(ends[1], "x", 1);
    b = 1; // MAY(hunt:b) not predicted
    mq_send(queue, "x", 1, 0);
    c = 1; // MAY(hunt:c) not predicted
    semctl(set, 0, SETVAL, 1);
    return p;
}

int main(void)
{
    int n = 0;
    char name[32];
    struct mq_attr has = {.mq_maxmsg = 2, .mq_msgsize = 8};
    pthread_t thread;
    snprintf(name, sizeof name, "/dh-asked-%d", (int)getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &has);
    set = semget(IPC_PRIVATE, 1, 0600);
    if (queue == (mqd_t)-1 || set < 0 || pipe(ends))
        return 0;
    mq_unlink(name);
    pthread_create(&thread, 0, tells, 0);
    while (ioctl(ends[0], FIONREAD, &n) || n == 0)
        usleep(10);
    a++; // MAY(hunt:a) not predicted
    while (mq_getattr(queue, &has) || has.mq_curmsgs == 0)
        usleep(10);
    b++; // MAY(hunt:b) not predicted
    while (semctl(set, 0, GETVAL) != 1)
        usleep(10);
    c++; // MAY(hunt:c) not predicted
    pthread_join(thread, 0);
    semctl(set, 0, IPC_RMID);
    return a == 2 && b == 2 && c == 2 ? 0 : 1;
}
