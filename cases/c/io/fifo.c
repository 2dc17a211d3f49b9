//@ expect: none
// Opening a named pipe waits for the other side to be opened.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

int data;

static void *writer(void *p)
{
    data = 1; // MAY(hunt:a) not predicted
    int fd = open("fifo", O_WRONLY);
    (void)!write(fd, "x", 1);
    close(fd);
    return p;
}

int main(void)
{
    char c;
    pthread_t thread;
    unlink("fifo");
    if (mkfifo("fifo", 0600))
        return 0;
    pthread_create(&thread, 0, writer, 0);
    int fd = open("fifo", O_RDONLY);
    if (read(fd, &c, 1) == 1)
        data++; // MAY(hunt:a) not predicted
    pthread_join(thread, 0);
    unlink("fifo");
    return data == 2 ? 0 : 1;
}
