//@ expect: none
// Two open files and a lock on what they are of: flock as a mutex.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static char name[] = "lockXXXXXX";
int data;

static void *adds(void *p)
{
    int fd = open(name, O_RDWR);
    flock(fd, LOCK_EX);
    data++;
    flock(fd, LOCK_UN);
    close(fd);
    return p;
}

int main(void)
{
    pthread_t t, u;
    int fd = mkstemp(name);
    if (fd < 0)
        return 0;
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    close(fd);
    unlink(name);
    return data == 2 ? 0 : 1;
}
