//@ expect: none
// The functions of a stream that the program made itself run under the stream's lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static FILE *stream;
static atomic_int printed;
long bytes;

static ssize_t writes(void *cookie, const char *data, size_t len)
{
    bytes += len; // MAY(hunt:a) the lock is libc's own
    return len;
}

static void prints(void)
{
    fputs("hello\n", stream);
    fflush(stream);
}

static void *first(void *p)
{
    prints();
    atomic_store_explicit(&printed, 1, memory_order_relaxed);
    return p;
}

int main(void)
{
    pthread_t thread;
    stream = fopencookie(0, "w", (cookie_io_functions_t){.write = writes});
    pthread_create(&thread, 0, first, 0);
    while (!atomic_load_explicit(&printed, memory_order_relaxed))
        ;
    prints();
    pthread_join(thread, 0);
    fclose(stream);
    return bytes != 12;
}
