//@ expect: real
// A System V segment: detached and attached again it is the same memory, but the accesses before are no longer known by
// their addresses.
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/shm.h>

int *shared;

static void *count(void *p)
{
    *shared += 1; // RACE!(a)
    return p;
}

int main(void)
{
    int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    if (segment < 0)
        return 1;
    shared = shmat(segment, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    *shared += 1; // RACE!(a)
    pthread_join(thread, 0);
    int sum = *shared;
    shmdt(shared);
    shared = shmat(segment, 0, 0);
    shmctl(segment, IPC_RMID, 0);
    return sum < 1 || *shared != sum;
}
