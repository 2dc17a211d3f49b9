//@ expect: none
// A read that fails writes nothing, and a thread's number is written before the thread begins.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
char buffer[16];
pthread_t thread;

static void *looks(void *p)
{
    volatile char sum = buffer[0];
    (void)sum;
    return pthread_equal(thread, pthread_self()) ? p : 0;
}

int main(void)
{
    int number = 1;
    FILE *empty = fopen("/dev/null", "r");
    if (pipe(ends) || fcntl(ends[0], F_SETFL, O_NONBLOCK))
        return 1;
    pthread_create(&thread, 0, looks, &number);
    long got = read(ends[0], buffer, sizeof buffer);
    if (got != -1 || errno != EAGAIN || fgets(buffer, sizeof buffer, empty) || fread(buffer, 1, 1, empty))
        return 1;
    void *result;
    pthread_join(thread, &result);
    return result == &number ? 0 : 1;
}
