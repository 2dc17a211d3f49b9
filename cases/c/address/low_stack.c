//@ expect: real
// A thread whose stack the program put below 2 GiB.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { SIZE = 1 << 18 };
int shared;

__attribute__((noinline)) static int sum(const int *numbers, int n)
{
    int all = 0;
    for (int i = 0; i < n; i++)
        all += numbers[i];
    return all;
}

static void *work(void *a)
{
    volatile int own[50];
    for (int i = 0; i < 50; i++)
        own[i] = i;
    shared = sum((const int *)own, 50); // RACE!(a)
    return a;
}

int main(void)
{
    void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SIZE);
    pthread_t t;
    pthread_create(&t, &attributes, work, NULL);
    int seen = shared; // RACE!(a)
    pthread_join(t, NULL);
    return seen != 0 && seen != 1225;
}
