//@ expect: real
// What is read from a descriptor is written to the buffer by the one who reads, as far as it came.
#include <pthread.h>
#include <unistd.h>

static int ends[2];
char buffer[16];

static void *looks(void *p)
{
    volatile char sum = buffer[0]; // RACE!(a)
    sum += buffer[12];
    (void)sum;
    return p;
}

int main(void)
{
    pthread_t t;
    if (pipe(ends) || write(ends[1], "12345678", 8) != 8)
        return 1;
    pthread_create(&t, 0, looks, 0);
    long got = read(ends[0], buffer, sizeof buffer); // RACE!(a)
    pthread_join(t, 0);
    return got == 8 ? 0 : 1;
}
