//@ expect: real
// The same with relaxed operations: the futex calls themselves order nothing in C11.
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
    while (atomic_load_explicit(&event, memory_order_relaxed) == 0)
        syscall(SYS_futex, &event, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    return (void *)(long)data; // RACE!(a)
}

static void *setter(void *arg) {
    data = 8; // RACE!(a)
    atomic_store_explicit(&event, 1, memory_order_relaxed);
    syscall(SYS_futex, &event, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, waiter, 0);
    pthread_create(&u, 0, setter, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
