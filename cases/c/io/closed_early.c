//@ expect: real
// One thread closes a descriptor that another still uses; a stream it closes afterwards: which file it then is, nobody knows.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int file;
static FILE *stream;

static void *uses(void *p)
{
    char byte;
    if (read(file, &byte, 1) > 1) // RACE!(a)
        return 0;
    fputc('x', stream);
    return p;
}

static void *waits(void *p)
{
    usleep(1000);
    return p;
}

int main(void)
{
    pthread_t t, u;
    file = open("/dev/null", O_RDONLY);
    stream = fopen("/dev/null", "w");
    pthread_create(&t, 0, uses, 0);
    pthread_create(&u, 0, waits, 0);
    pthread_join(u, 0);
    close(file); // RACE!(a)
    pthread_join(t, 0);
    fclose(stream);
    return 0;
}
