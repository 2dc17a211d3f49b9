//@ expect: none
// What was done before a thread was cancelled is known to its cleanup handlers.
#include <pthread.h>
#include <unistd.h>

int data;

static void cleans(void *p)
{
    (void)p;
    data++;
}

static void *waits(void *p)
{
    pthread_cleanup_push(cleans, 0);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    data = 1;
    pthread_cancel(thread);
    pthread_join(thread, 0);
    return data == 2 ? 0 : 1;
}
