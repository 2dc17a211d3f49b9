//@ expect: none
// Room to write is a reader's doing: in a full pipe, in an event counter at its end.
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int ends[2], event;
static char much[1 << 17];
int a, b;

static void *empties(void *p)
{
    uint64_t value;
    char part[4096];
    a = 1; // MAY(hunt:a) not predicted
    for (size_t got = 0; got < sizeof much;) {
        ssize_t n = read(ends[0], part, sizeof part);
        if (n <= 0)
            return p;
        got += n;
    }
    b = 1; // MAY(hunt:b) not predicted
    (void)!read(event, &value, sizeof value);
    return p;
}

int main(void)
{
    uint64_t most = UINT64_MAX - 1;
    pthread_t thread;
    event = eventfd(0, 0);
    if (event < 0 || pipe(ends) || write(event, &most, sizeof most) != sizeof most)
        return 0;
    pthread_create(&thread, 0, empties, 0);
    if (write(ends[1], much, sizeof much) == sizeof much)
        a++; // MAY(hunt:a) not predicted
    if (write(event, &most, sizeof most) == sizeof most)
        b++; // MAY(hunt:b) not predicted
    pthread_join(thread, 0);
    return a == 2 && b == 2 ? 0 : 1;
}
