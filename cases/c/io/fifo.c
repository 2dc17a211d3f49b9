//@ expect: none
// Opening a named pipe waits for the other side to be opened, be it for nothing.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

int there, back;

static void *other(void *p)
{
    there = 1; // MAY(hunt:a) not predicted
    close(open("fifo", O_WRONLY));
    int fd = open("back", O_RDONLY);
    back++; // MAY(hunt:b) not predicted
    close(fd);
    return p;
}

int main(void)
{
    pthread_t thread;
    unlink("fifo");
    unlink("back");
    if (mkfifo("fifo", 0600) || mkfifo("back", 0600))
        return 0;
    pthread_create(&thread, 0, other, 0);
    close(open("fifo", O_RDONLY));
    there++; // MAY(hunt:a) not predicted
    back = 1; // MAY(hunt:b) not predicted
    close(open("back", O_WRONLY));
    pthread_join(thread, 0);
    unlink("fifo");
    unlink("back");
    return there == 2 && back == 2 ? 0 : 1;
}
