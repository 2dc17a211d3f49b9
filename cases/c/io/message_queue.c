//@ expect: none
// A message queue of POSIX hands data over.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static mqd_t queue;
int data;

static void *gives(void *p)
{
    data = 1;
    mq_send(queue, "x", 1, 0);
    return p;
}

int main(void)
{
    char name[32], got[8];
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = sizeof got};
    pthread_t thread;
    snprintf(name, sizeof name, "/dh-case-%d", (int)getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    if (queue == (mqd_t)-1)
        return 0;
    mq_unlink(name);
    pthread_create(&thread, 0, gives, 0);
    if (mq_receive(queue, got, sizeof got, 0) == 1)
        data++;
    pthread_join(thread, 0);
    return data == 2 ? 0 : 1;
}
