//@ expect: none
// Semaphores and messages of System V.
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

static int set, queue;
int first, second;

static void *gives(void *p)
{
    struct sembuf up = {0, 1, 0};
    struct { long kind; char text; } message = {1, 'x'};
    first = 1;
    semop(set, &up, 1);
    second = 1;
    msgsnd(queue, &message, 1, 0);
    return p;
}

int main(void)
{
    struct sembuf down = {0, -1, 0};
    struct { long kind; char text; } message;
    pthread_t thread;
    set = semget(IPC_PRIVATE, 1, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_create(&thread, 0, gives, 0);
    if (semop(set, &down, 1) == 0)
        first++;
    if (msgrcv(queue, &message, 1, 0, 0) == 1)
        second++;
    pthread_join(thread, 0);
    semctl(set, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, 0);
    return first == 2 && second == 2 ? 0 : 1;
}
