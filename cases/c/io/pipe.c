//@ expect: none
// A byte through a pipe hands the data over.
#include <pthread.h>
#include <unistd.h>

int ends[2], data;

static void *sender(void *arg) {
    data = 4;
    if (write(ends[1], "x", 1) != 1)
        _exit(0);
    return arg;
}

static void *receiver(void *arg) {
    char c;
    (void)arg;
    if (read(ends[0], &c, 1) != 1)
        _exit(0);
    return (void *)(long)data;
}

int main(void) {
    pthread_t t, u;
    void *r;
    if (pipe(ends))
        return 0;
    pthread_create(&t, 0, receiver, 0);
    pthread_create(&u, 0, sender, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 4;
}
