//@ expect: real
// Memory below 2 GiB and memory at an address of the program's own have no shadow: they are not watched, but what
// else is raced for is found.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

struct record {
    char letter;
    short small;
    int count;
    __int128 large;
    double real;
    char text[100];
};

struct record *low;
int shared;

static void touch(int n)
{
    low->letter += n; // MISS(hunt:b) below 2 GiB there is no shadow
    low->small += n;
    low->count += n;
    low->large += n;
    low->real += n;
    memset(low->text, n, sizeof low->text);
    low[1] = low[0];
}

static void *work(void *a)
{
    shared = 1;      // RACE!(a)
    low->letter = 9; // MISS(hunt:b) as above
    return a;
}

int main(void)
{
    int both = MAP_PRIVATE | MAP_ANONYMOUS;
    void *places[2] = {
        mmap((void *)0x300000000000, 1 << 16, PROT_READ | PROT_WRITE, both, -1, 0),
        mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, both | MAP_32BIT, -1, 0),
    };
    for (int i = 0; i < 2; i++) {
        if (places[i] == MAP_FAILED)
            return 1;
        low = places[i];
        touch(i);
    }
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    touch(2);
    shared = 2; // RACE!(a)
    pthread_join(t, NULL);
    return low->count != 3;
}
