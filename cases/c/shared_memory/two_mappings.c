//@ expect: real
// The same memory at two addresses: an access is known by its address, so that a race through two mappings is missed.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

int *one, *other;

static void *count(void *p)
{
    *one += 1; // MISS(hunt:a) through the other mapping these are other bytes
    return p;
}

int main(void)
{
    int fd = memfd_create("case", 0);
    if (fd < 0 || ftruncate(fd, 4096))
        return 1;
    one = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    other = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    *other += 1; // MISS(hunt:a) as above
    pthread_join(thread, 0);
    return *one < 1;
}
