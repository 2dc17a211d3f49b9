//@ expect: none
// Through two pipes and a process between them.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int to[2], back[2];
int data;

static void *gives(void *p)
{
    data = 1; // MAY(hunt:a) the way through the child is not predicted
    (void)!write(to[1], "x", 1);
    return p;
}

int main(void)
{
    char c;
    pthread_t thread;
    if (pipe(to) || pipe(back))
        return 0;
    if (fork() == 0) {
        if (read(to[0], &c, 1) == 1)
            (void)!write(back[1], &c, 1);
        _exit(0);
    }
    pthread_create(&thread, 0, gives, 0);
    if (read(back[0], &c, 1) == 1)
        data++; // MAY(hunt:a) as above
    pthread_join(thread, 0);
    wait(0);
    return data == 2 ? 0 : 1;
}
