//@ expect: none
// What is in a file tells that another thread wrote it.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int fd;
int data;

static void *writes(void *p)
{
    data = 1; // MAY(hunt:a) not predicted
    (void)!pwrite(fd, "x", 1, 0);
    return p;
}

int main(void)
{
    char c;
    pthread_t thread;
    fd = open("contents", O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (fd < 0)
        return 0;
    pthread_create(&thread, 0, writes, 0);
    while (pread(fd, &c, 1, 0) != 1)
        usleep(10);
    data++; // MAY(hunt:a) not predicted
    pthread_join(thread, 0);
    unlink("contents");
    return data == 2 ? 0 : 1;
}
