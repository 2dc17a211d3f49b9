//@ expect: none
// The lock of the text book: test-and-set, and clear.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

atomic_flag flag = ATOMIC_FLAG_INIT;
int counter;

static void *worker(void *arg) {
    for (int i = 0; i < 3; i++) {
        while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
            sched_yield();
        counter++;
        atomic_flag_clear_explicit(&flag, memory_order_release);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter != 6;
}
