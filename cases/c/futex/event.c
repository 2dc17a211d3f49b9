//@ expect: none
// An event: the waiter sleeps in the kernel until the word changes; the word itself synchronises.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int event;
int data;

static void *waiter(void *arg) {
    (void)arg;
    while (atomic_load_explicit(&event, memory_order_acquire) == 0)
        syscall(SYS_futex, &event, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    return (void *)(long)data;
}

static void *setter(void *arg) {
    data = 8;
    atomic_store_explicit(&event, 1, memory_order_release);
    syscall(SYS_futex, &event, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    return arg;
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, waiter, 0);
    pthread_create(&u, 0, setter, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 8;
}
