//@ expect: none
// Synchronisation in assembly, which nobody sees, told of by annotations: a flag that is handed over, and a lock.
#include <deadheat.h>
#include <pthread.h>
#include <sched.h>

int message, total;
volatile int ready, held;

int swapped(volatile int *word, int value);
__asm__("swapped: movl %esi, %eax; xchgl %eax, (%rdi); ret");

static void add(int n) {
    while (swapped(&held, 1))
        sched_yield();
    DEADHEAT_LOCK_TAKEN(&held, 1);
    total += n;
    DEADHEAT_LOCK_GIVEN(&held, 1);
    swapped(&held, 0);
}

static void *receives(void *arg) {
    int got = 0;
    while (!got) {
        got = swapped(&ready, 0);
        sched_yield();
    }
    DEADHEAT_HAPPENS_AFTER(&ready);
    add(message);
    return arg;
}

int main(void) {
    pthread_t t;
    DEADHEAT_LOCK_CREATED(&held);
    pthread_create(&t, 0, receives, 0);
    message = 7;
    DEADHEAT_HAPPENS_BEFORE(&ready);
    swapped(&ready, 1);
    add(1);
    pthread_join(t, 0);
    DEADHEAT_LOCK_DESTROYED(&held);
    return total != 8;
}
