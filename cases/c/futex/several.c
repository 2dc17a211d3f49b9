//@ expect: none
// futex_waitv: one thread waits for either of two words.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
struct waiter {
    unsigned long value, address;
    unsigned flags, reserved;
};
static _Atomic unsigned words[2];
int data;

static void *give(void *p)
{
    data = 7;
    atomic_store(&words[1], 1);
    syscall(SYS_futex, &words[1], FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    return p;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, give, 0);
    struct waiter list[2];
    for (int i = 0; i < 2; i++)
        list[i] = (struct waiter){.address = (unsigned long)&words[i], .flags = 2 | FUTEX_PRIVATE_FLAG};
    while (atomic_load(&words[1]) == 0)
        syscall(SYS_futex_waitv, list, 2, 0, 0, 0);
    int seen = data;
    pthread_join(thread, 0);
    return seen == 7 ? 0 : 1;
}
