//@ expect: none
// One flag at two addresses: who sets it by the one releases, who reads it by the other acquires.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int *flag[2];
int data;

static void *gives(void *p)
{
    data = 1; // MAY(hunt:a) ordered by way of another address
    atomic_store_explicit(flag[0], 1, memory_order_release);
    return p;
}

int main(void)
{
    pthread_t thread;
    int fd = memfd_create("flag", 0);
    if (fd < 0 || ftruncate(fd, 4096))
        return 0;
    for (int i = 0; i < 2; i++)
        flag[i] = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_create(&thread, 0, gives, 0);
    while (!atomic_load_explicit(flag[1], memory_order_acquire))
        ;
    data++; // MAY(hunt:a) as above
    pthread_join(thread, 0);
    return data != 2;
}
