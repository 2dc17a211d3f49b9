//@ expect: real
// Threads that share an object of POSIX shared memory through one mapping: memory like any other.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t lock;
    int guarded, bare;
} *shared;

static void *count(void *p)
{
    pthread_mutex_lock(&shared->lock);
    shared->guarded++;
    pthread_mutex_unlock(&shared->lock);
    shared->bare++; // RACE!(a)
    return p;
}

int main(void)
{
    char name[] = "/deadheat-case";
    int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *shared))
        return 1;
    shm_unlink(name);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attributes);
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    count(0);
    pthread_join(thread, 0);
    return shared->guarded != 2;
}
