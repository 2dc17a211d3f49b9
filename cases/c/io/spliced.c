//@ expect: none
// Data that goes on through splice and tee: the last reader knows what the first writer did.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int a[2], b[2], c[2];
int first, second;

static void *writes(void *p)
{
    first = 1;
    (void)!write(a[1], "x", 1);
    return p;
}

static void *moves(void *p)
{
    second = 1;
    tee(a[0], b[1], 1, 0);
    splice(a[0], 0, c[1], 0, 1, 0);
    return p;
}

int main(void)
{
    char got[2];
    pthread_t t, u;
    if (pipe(a) || pipe(b) || pipe(c))
        return 0;
    pthread_create(&t, 0, writes, 0);
    pthread_create(&u, 0, moves, 0);
    if (read(c[0], got, 1) == 1) {
        first++;
        second++;
    }
    pthread_join(t, 0);
    pthread_join(u, 0);
    return first == 2 && second == 2 ? 0 : 1;
}
