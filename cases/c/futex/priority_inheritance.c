//@ expect: none
// A lock by FUTEX_LOCK_PI, whose word holds the owner's kernel id.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic unsigned word;
int counter;

static void *count(void *p)
{
    for (int i = 0; i < 3; i++) {
        unsigned none = 0, own = (unsigned)syscall(SYS_gettid);
        if (!atomic_compare_exchange_strong(&word, &none, own))
            syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0);
        counter++;
        none = own;
        if (!atomic_compare_exchange_strong(&word, &none, 0))
            syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, 0, 0, 0);
    }
    return p;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, count, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return counter == 6 ? 0 : 1;
}
