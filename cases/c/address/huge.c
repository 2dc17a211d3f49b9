//@ expect: real
// More memory than ordinary mappings have addresses with a shadow: the rest is not watched.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

char *huge, *small;

static void *work(void *a)
{
    huge[1ul << 40] = 1;
    small[0] = 1; // RACE!(a)
    return a;
}

int main(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    huge = mmap(NULL, 8ul << 40, PROT_READ | PROT_WRITE, flags, -1, 0);
    small = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags | MAP_GROWSDOWN, -1, 0);
    if (huge == MAP_FAILED || small == MAP_FAILED)
        return 1;
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    huge[5ul << 40] = 2;
    small[0] = 2; // RACE!(a)
    pthread_join(t, NULL);
    return huge[5ul << 40] != 2;
}
