//@ expect: none
// An event counter, by the functions that glibc has for it.
#include <pthread.h>
#include <sys/eventfd.h>

static int event;
int data;

static void *gives(void *p)
{
    data = 1;
    eventfd_write(event, 1);
    return p;
}

int main(void)
{
    eventfd_t value;
    pthread_t thread;
    event = eventfd(0, 0);
    pthread_create(&thread, 0, gives, 0);
    if (eventfd_read(event, &value) == 0)
        data++;
    pthread_join(thread, 0);
    return data == 2 ? 0 : 1;
}
