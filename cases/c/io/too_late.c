//@ expect: real
// What the sender does after it wrote is ordered by nothing, although the receiver's read comes after it in most runs.
#include <pthread.h>
#include <unistd.h>

static int ends[2];
int before, after;

static void *sender(void *p)
{
    before = 1;
    (void)!write(ends[1], "x", 1);
    after = 1; // RACE!(late)
    return p;
}

int main(void)
{
    char c;
    pthread_t thread;
    if (pipe(ends))
        return 0;
    pthread_create(&thread, 0, sender, 0);
    if (read(ends[0], &c, 1) == 1)
        before++;
    after++; // RACE!(late)
    pthread_join(thread, 0);
    return 0;
}
